// WHIP (RFC 9725) and WHEP (draft-ietf-wish-whep-03) over HTTP: offers in, answers out, and the
// resource of each session.
//
//   POST   /rtc/v1/whip/?app=live&stream=livestream   publish; also /live/livestream/whip
//   POST   /rtc/v1/whep/?app=live&stream=livestream   play; also /live/livestream/whep
//   PATCH  /rtc/v1/session/ID                          trickled candidates, ICE restart
//   DELETE /rtc/v1/session/ID                          the end
//
// ?vhost=NAME chooses a vhost. `Authorization: Bearer TOKEN` and ?key=TOKEN are the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "net/admission.h"
#include "net/http/router.h"
#include "net/services.h"
#include "session/webrtc/rtc_server.h"

namespace weir::session {

// A server that clients should use to find their way here: in the answer's Link fields
// (RFC 9725 §4.6).
struct IceServer {
    std::string url;         // "stun:stun.example.net", "turn:turn.example.net?transport=udp"
    std::string username;    // of TURN; empty: none
    std::string credential;  // a password
};

// What an offer is for, whatever the form in which it came.
struct RtcOffer {
    bool publishes = false;
    std::string_view vhost;
    std::string_view app;
    std::string_view name;
    std::string_view layer;  // of a player: which size of a simulcast stream; empty: as it fits
    std::string_view token;
    std::string_view query;  // of its address
    std::string_view sdp;
};

class RtcRoutes {
  public:
    RtcRoutes(const net::Services& services, RtcServer& server, std::vector<IceServer> ice_servers)
        : services_(services), server_(server), ice_servers_(std::move(ice_servers)) {}

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

    // For answers from now on.
    void set_ice_servers(std::vector<IceServer> servers) { ice_servers_ = std::move(servers); }

    // Yields. Asks the policy and the hooks, then the server. A refusal is logged here; status_of()
    // has its status.
    Result<RtcAnswer> answer(const RtcOffer& offer, net::HttpExchange& exchange);

    int status_of(const Error& error) const;

  private:
    void take_offer(net::HttpExchange& exchange, bool publishes);
    Result<RtcAnswer> logged(Result<RtcAnswer> made,
                             const net::NewcomerView& who,
                             net::HookAction action);
    void manage(net::HttpExchange& exchange);
    void patch(net::HttpExchange& exchange, RtcSession& session);
    void refuse(net::HttpExchange& exchange, const Error& error);
    void respond(net::HttpExchange& exchange, const RtcAnswer& answer) const;

    net::Services services_;
    net::Admission admission_{services_};
    RtcServer& server_;
    std::vector<IceServer> ice_servers_;
    log::Throttle refused_{Millis(1000)};  // changes of a session
};

// "<turn:turn.example.net>; rel="ice-server"; username="user"; credential="x"; ..."
std::string link_text(const IceServer& server);

// Whether the precondition If-Match: `field` holds for a resource with that entity tag
// (RFC 9110 §13.1.1: strong comparison). "*" in quotes counts as *: RFC 9725 writes it so.
bool if_match_holds(std::string_view field, std::string_view etag);

}  // namespace weir::session
