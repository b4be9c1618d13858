// PhoneServer: browsers as telephones. GET /phone becomes a WebSocket, over which a page steers one
// line of net::PhoneLines; its media comes and goes by WHIP and WHEP, as two private streams.
//
// Only users of this server's own SIP configuration and of domains that have lines may open one.
// The password is looked at here first, so that wrong ones never reach the SIP listener, which
// would take all browsers for one guesser: they are slowed down by the browser's own address.
//
// Each WebSocket keeps the coroutine of its HTTP request. HttpServer::stop() ends them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "net/address_rates.h"
#include "net/http/router.h"
#include "net/services.h"
#include "session/phone/phone_book.h"

namespace weir::io {
class SocketAddress;
}

namespace weir::session {

class PhoneSession;

struct PhoneTimes {
    Millis open_wait{30'000};  // from the WebSocket to a line that is ready
    // A page that says nothing is asked, and has gone when it does not answer that.
    Millis ping{20'000};
    Millis silence{60'000};
    Millis take{10'000};  // for a page to take what it is told
};

struct PhoneServerOptions {
    bool enabled = false;
    PhoneTimes times = {};
    std::vector<std::string> server_names;  // of pages that are this server's own
};

struct PhoneCounters {
    uint64_t opened = 0;           // lines that were ready
    uint64_t refused = 0;          // WebSockets and lines
    uint64_t wrong_passwords = 0;  // of the refused ones
};

class PhoneServer {
  public:
    static constexpr size_t kMaxPhones = 1'000;     // WebSockets
    static constexpr size_t kMaxPhonesOfOne = 100;  // of one address, once half are taken
    static constexpr net::BucketOptions kWrongPasswords{.per_second = 0.2, .burst = 10};

    // All must outlive this.
    PhoneServer(const net::Services& services, const PhoneBook& book)
        : services_(services), book_(book) {}

    ~PhoneServer();  // its sessions must have ended
    PhoneServer(const PhoneServer&) = delete;
    PhoneServer& operator=(const PhoneServer&) = delete;

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

    // Ends the phones that are there when it is switched off.
    void reconfigure(PhoneServerOptions options);

    size_t size() const { return sessions_.size(); }

    const PhoneCounters& counters() const { return counters_; }

    // ---- for sessions ----

    const net::Services& services() const { return services_; }

    const PhoneBook& book() const { return book_; }

    const PhoneTimes& times() const { return options_.times; }

    PhoneCounters& counters() { return counters_; }

    // How long that address has to wait until it may show a password; 0: it may now.
    Millis wait_for(const io::SocketAddress& peer) const;
    void count_wrong(const io::SocketAddress& peer);

    void log_refused(const io::SocketAddress& peer, std::string_view user, std::string_view why);

  private:
    void handle(net::HttpExchange& exchange);

    net::Services services_;
    const PhoneBook& book_;
    PhoneServerOptions options_;
    std::set<PhoneSession*> sessions_;
    net::AddressRates wrong_;
    PhoneCounters counters_;
    log::Throttle refused_{Millis(1000)};
};

}  // namespace weir::session
