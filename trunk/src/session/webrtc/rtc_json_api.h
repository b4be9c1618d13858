// The JSON form of WebRTC signalling, which clients made for SRS speak:
//
//   POST /rtc/v1/publish/, /rtc/v1/play/
//   {"api":.., "tid":.., "streamurl":"webrtc://host[:port]/app/stream?key=..", "clientip":..,
//   "sdp":..}
//   -> {"code":0, "server":.., "service":.., "pid":.., "sdp":.., "sessionid":..}
//
// Errors are {"code":400, "error":"a sentence"} with HTTP status 200: those clients look at `code`
// and show nothing of an answer with another status. The session is ended like those of WHIP, by
// DELETE /rtc/v1/session/SESSIONID.
#pragma once

#include <string>
#include <string_view>

#include "net/api/answer.h"
#include "net/http/router.h"
#include "session/webrtc/rtc_routes.h"

namespace weir::session {

// "webrtc://host:port/app/stream?vhost=x&key=y" taken apart.
struct RtcStreamUrl {
    std::string vhost;  // ?vhost=, or else the host
    std::string app;    // may hold slashes
    std::string name;
    std::string key;
    std::string layer;
    std::string query;  // as written

    // kMalformed says what is wrong.
    static Result<RtcStreamUrl> parse(std::string_view url);
};

class RtcJsonApi {
  public:
    // `routes` must outlive this.
    RtcJsonApi(const net::ServerIdentity& identity, RtcRoutes& routes)
        : identity_(identity), routes_(routes) {}

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

  private:
    // Yields.
    void take(net::HttpExchange& exchange, bool publishes);
    Result<net::Json> make_answer(net::HttpExchange& exchange, bool publishes);

    net::ServerIdentity identity_;
    RtcRoutes& routes_;
};

}  // namespace weir::session
