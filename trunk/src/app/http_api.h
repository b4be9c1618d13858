// The HTTP API (port 1985): versions, summaries, streams, clients, and /metrics; and /live.json of
// the public server.
//
// JSON in the form {"code":0,"server":..,"service":..,"pid":..,"data" or the resource's name: ..}
// that users of this field's servers know (DESIGN §6). Nothing here yields but the answers.
#pragma once

#include "app/api_answer.h"
#include "app/process_stats.h"
#include "net/http/router.h"
#include "net/http/server.h"
#include "net/services.h"
#include "session/webrtc/rtc_server.h"

namespace weir::app {

class HttpApi {
  public:
    // `rtc` must outlive this; null: there is no WebRTC. `rtmp_port`: of the addresses that the
    // page shows.
    HttpApi(const net::Services& services,
            ServerIdentity identity,
            const session::RtcServer* rtc = nullptr,
            uint16_t rtmp_port = 1935);

    // The API's routes; this object must outlive the router's server.
    void add_to(net::HttpRouter& router);

    // GET /live.json: what is live, for the page of the public server.
    void add_live_to(net::HttpRouter& router);

  private:
    void versions(net::HttpExchange& exchange);
    void summaries(net::HttpExchange& exchange);
    void streams(net::HttpExchange& exchange);
    void clients(net::HttpExchange& exchange);
    void metrics(net::HttpExchange& exchange);
    void live(net::HttpExchange& exchange);

    net::Services services_;
    ServerIdentity identity_;
    const session::RtcServer* rtc_;
    uint16_t rtmp_port_;
};

}  // namespace weir::app
