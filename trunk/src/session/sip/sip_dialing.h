// Calls by this server: what is ordered, and where it may go.
//
// No call leaves this server unless it goes to (a) a phone that is registered here, (b) a provider
// or PBX that this server is registered at, (c) a host of `allow_calls`. Lines call by rules of
// their own (SipLines). What a phone dials leaves by a rule of `outside` only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/resolver.h"
#include "proto/http/user_info.h"
#include "proto/sip/flow.h"
#include "proto/sip/registrar.h"
#include "proto/sip/uri.h"
#include "session/sip/sip_options.h"
#include "session/sip/sip_wires.h"
#include "stream/registry.h"

namespace weir::io {
class Deadline;
}

namespace weir::session {

// A call by the server. SipServer::place_call() takes it.
struct SipCallOrder {
    // "alice" (a user of the registrar, or a number of `extension`), "sip:alice@example.com", or
    // with `via` any number of that trunk: "+1234".
    std::string to;
    std::string via;            // a registration: "user@pbx"; empty: whatever `to` asks for
    std::string from;           // "sip:user@domain"; empty: the trunk's, or this server's
    std::string display;        // of From; may be empty
    http::UserInfo login;       // answers 401 and 407 of the other side; empty: the trunk's
    std::string proxy;          // "host[:port]" that the INVITE goes to; empty: the host of `to`
    bool by_line = false;       // the rules of lines allow it, and these are not asked
    stream::StreamKey play;     // that the phone hears; no name: none. Nobody has to publish it yet
    stream::StreamKey publish;  // that the phone says; no name: none
    std::vector<std::string> codecs;  // names of audio and video codecs that may be offered, as
                                      // media::to_string has them; empty: all
};

// Where a call goes, once it is known.
struct SipDestination {
    struct Target {
        sip::Flow flow;
        std::string uri;
    };

    std::vector<Target> targets;  // called at the same time; the first one that answers has it
    std::string from;
    std::string trunk;
    http::UserInfo login;
};

// "host", "host:port" or a URI, as the address of a server of SIP.
struct SipHop {
    sip::Transport transport = sip::Transport::kUdp;
    std::string host;
    uint16_t port = 0;
};

// kMalformed.
Result<SipHop> parse_sip_hop(std::string_view text);

// Whether a rule of `allow_calls` names the host itself: a name, "*.example.com", or an address.
bool allows_sip_host(const SipServerOptions& options, std::string_view host);

bool allows_sip_address(const SipServerOptions& options, const NetAddress& address);

class SipTrunk;
class SipTrunks;

class SipDialer {
  public:
    static constexpr size_t kMaxDialled = 32;  // digits of a number outside

    // All must outlive this; `options` may change.
    SipDialer(const SipServerOptions& options,
              const sip::Registrar& registrar,
              const SipTrunks& trunks,
              SipWires& wires,
              io::Resolver& resolver)
        : options_(options),
          registrar_(registrar),
          trunks_(trunks),
          wires_(wires),
          resolver_(resolver) {}

    // Never yields. What can be said at once: kMalformed; kDenied: no rule allows it.
    Error check(const SipCallOrder& order) const { return plan(order).take_error(); }

    // Yields. As check(); kNotFound: no phone is registered, or the trunk is not; and what
    // Resolver::resolve() and SipWires::flow_to() say.
    Result<SipDestination> find(const SipCallOrder& order, io::Deadline deadline);

    // Where they are registered.
    std::vector<SipDestination::Target> phones_of(std::string_view user) const;

    // The rule of `outside` for a number that a user has dialled, + and digits; of several that
    // with the longest beginning. null: none.
    const SipOutside* outside_rule(std::string_view number) const;

    // The user that has this name or number; empty: nobody.
    std::string user_of(std::string_view number) const;

  private:
    // One of three: a user, a trunk, a host.
    struct Plan {
        std::string user;
        const SipTrunk* trunk = nullptr;
        std::string uri;  // of whom to call, by a trunk or at a host
        SipHop hop;
        bool by_name = false;  // the host is allowed by its name
    };

    Result<Plan> plan(const SipCallOrder& order) const;
    bool is_own_host(std::string_view host) const;

    const SipServerOptions& options_;
    const sip::Registrar& registrar_;
    const SipTrunks& trunks_;
    SipWires& wires_;
    io::Resolver& resolver_;
};

// The bindings of a phone of this server are known by this, whatever host it has written.
std::string local_aor(std::string_view user);

}  // namespace weir::session
