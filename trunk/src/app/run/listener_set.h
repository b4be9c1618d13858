// ListenerSet: everything that this process listens on, and how it changes while it runs.
//
// A change has two steps. prepare() opens what is new, all of it or nothing, and touches no
// listener that is there; commit() puts the new ones into service, hands over those whose port now
// belongs to another server, and takes away the rest. Connections go on, whatever becomes of the
// listener through which they came; a UDP port stays open until its last session has ended.
//
// One exception: a new address that includes an old one of the same port, or the other way round
// (1935 to 127.0.0.1:1935), cannot be opened beside it. Then the old one is closed first, and
// opened again if that does not help: for an instant nobody listens.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/run/listener_service.h"
#include "base/error.h"
#include "config/listen_address.h"

namespace weir::config {
struct Config;
}

namespace weir::io {
class SocketAddress;
class TcpListener;
class UdpSocket;
struct UdpOptions;
}  // namespace weir::io

namespace weir::app {

struct WantedListener {
    std::string_view kind;
    config::ListenAddress address;
};

struct ListenFailure {
    config::ListenAddress address;
    Error error;
};

class ListenerSet {
  public:
    ListenerSet();
    ~ListenerSet();
    ListenerSet(const ListenerSet&) = delete;
    ListenerSet& operator=(const ListenerSet&) = delete;

    // In the order in which their listeners are opened; what serves them must outlive this object's
    // last commit().
    void add(ListenerService service) { services_.push_back(std::move(service)); }

    // Who opens TCP listeners, where that is not this process itself: by the address as text.
    using OpenTcp = std::function<Result<std::unique_ptr<io::TcpListener>>(const std::string&)>;

    void set_open_tcp(OpenTcp open) { open_tcp_ = std::move(open); }

    // The same of the UDP ports that all processes have: by the address of a SharedListeners.
    using OpenUdp = std::function<Result<std::unique_ptr<io::UdpSocket>>(const std::string&,
                                                                         const io::UdpOptions&)>;

    void set_open_udp(OpenUdp open) { open_udp_ = std::move(open); }

    // The addresses of the listeners that are there, as OpenTcp and OpenUdp got them. `kind` empty:
    // of all kinds.
    std::vector<std::string> opened_addresses(std::string_view kind = {}) const;

    // All that the configuration asks for.
    std::vector<WantedListener> wanted(const config::Config& config) const;

    // Yields. Opens what is wanted and not there. Empty: commit() or abandon() is next. Otherwise
    // nothing has changed.
    std::vector<ListenFailure> prepare(const std::vector<WantedListener>& wanted);

    // Yields. Puts what was prepared into force. kSystem: no coroutine could be had for some, which
    // is not served.
    Error commit();

    // Gives up what was prepared.
    void abandon();

    // For the log and tests: "rtmp 127.0.0.1:1935".
    std::vector<std::string> list() const;

  private:
    struct Entry {
        std::string_view kind;
        config::ListenAddress address;
        const io::TcpListener* tcp = nullptr;  // of its service
        std::string opened_as;                 // empty: of a UDP port of this process alone
        const io::UdpSocket* udp = nullptr;
        bool going = false;
    };

    // What one wanted listener becomes.
    struct Step;

    const ListenerService& service_of(std::string_view kind) const;

    bool is_udp(std::string_view kind) const { return service_of(kind).datagrams != nullptr; }

    void match(const std::vector<WantedListener>& wanted);
    Error open(Step& step);
    // Yields.
    Error open_udp(Step& step, const io::SocketAddress& address);
    Result<io::SocketAddress> address_of(const WantedListener& wanted) const;
    bool overlaps_going(const Step& step) const;
    Error open_in_place(Step& step);
    void reopen(Entry& entry);
    Error serve(const WantedListener& wanted, std::unique_ptr<io::TcpListener> tcp, Entry& entry);
    Error take(Step& step, std::vector<std::unique_ptr<Entry>>& next);
    void close(const Entry& entry);
    std::string text(const Entry& entry) const;

    OpenTcp open_tcp_;
    OpenUdp open_udp_;  // set where a service has `one_port`
    std::vector<ListenerService> services_;
    std::vector<std::unique_ptr<Entry>> entries_;
    std::vector<Step> steps_;  // between prepare() and commit()
};

}  // namespace weir::app
