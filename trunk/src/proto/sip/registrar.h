// A registrar (RFC 3261 §10.3): which contacts an address of record has, and over which flow each
// is reached. In memory. Who may register is asked before, by the owner. Sans-IO.
//
// A binding keeps the flow that its REGISTER came on, since a phone behind a NAT is reached by
// nothing else. The bindings of a connection go with it.
//
// Bounded: contacts of an address (one more drops the one that would end first), and all bindings
// together (one more gets 503).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/object_count.h"
#include "proto/http/fields.h"
#include "proto/sip/due_list.h"
#include "proto/sip/flow.h"
#include "proto/sip/message.h"
#include "proto/sip/name_addr.h"

namespace weir::sip {

struct RegistrarOptions {
    Seconds default_expires{3600};
    Seconds min_expires{60};  // less gets 423
    Seconds max_expires{7200};
    size_t max_contacts = 10;  // of one address of record
    size_t max_bindings = 100'000;
};

struct Binding final : private Counted<Binding> {
    // An address at which a phone is registered.
    static constexpr ObjectName kObjectName{"sip_binding", "sip"};

    uint64_t id = 0;
    std::string aor;      // "sip:user@domain"
    std::string contact;  // its URI: the Request-URI of calls
    uint16_t q = 1000;    // thousandths
    std::string call_id;
    uint32_t cseq = 0;
    std::string user_agent;
    Flow flow;
    MonoTime expires;
    std::optional<MonoTime> planned;  // of the registrar's list
};

class Registrar {
  public:
    static constexpr size_t kMaxUserAgent = 128;  // bytes that are kept; the rest is cut

    explicit Registrar(RegistrarOptions options) : options_(options) {}

    // What is to be answered.
    struct Answer {
        int status = 200;
        http::Fields headers;
    };

    // The address that a REGISTER is about, from its To; empty: it has none, and gets 404.
    static std::string address_of(const Request& request);

    // A REGISTER that is allowed. All of its contacts are taken, or none.
    Answer on_register(MonoTime now, const Request& request, const Flow& flow);

    // By q, the best first; of the same q the newest. Valid until the next call that is not const.
    std::vector<const Binding*> lookup(MonoTime now, std::string_view aor) const;

    // Bindings over this connection of TCP or TLS are gone.
    void on_connection_closed(uint64_t connection);

    void remove_all(std::string_view aor);

    void handle_timeout(MonoTime now);

    std::optional<MonoTime> next_timeout() const { return due_.next(); }

    size_t size() const { return by_id_.size(); }

    // All of them, in order of their addresses, for lists.
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [aor, bindings] : by_aor_) {
            for (const auto& binding : bindings) {
                visit(std::as_const(*binding));
            }
        }
    }

  private:
    using Bindings = std::vector<std::unique_ptr<Binding>>;

    struct Wish {
        NameAddr contact;
        SipUri uri;
        Seconds expires{0};
    };

    // These give 0, or the status of a refusal.
    int take_away(const Request& request, const Binding& from);
    int read_wishes(const Request& request, std::vector<Wish>& out) const;
    bool is_newer(const Bindings& bindings, const Wish& wish, const Binding& from) const;
    int take(MonoTime now, const Binding& from, const std::vector<Wish>& wishes);
    void put(MonoTime now, const Binding& from, const Wish& wish);
    void remove(uint64_t id);
    Answer list(MonoTime now, std::string_view aor) const;

    RegistrarOptions options_;
    uint64_t last_id_ = 0;
    std::map<std::string, Bindings, std::less<>> by_aor_;
    std::map<uint64_t, Binding*> by_id_;
    std::set<std::pair<uint64_t, uint64_t>> by_connection_;
    DueList due_;
};

}  // namespace weir::sip
