// "/app/stream.flv" over HTTP and WebSocket: from the request to a player of the stream's pump.
#pragma once

#include "net/admission.h"
#include "net/http/router.h"
#include "net/services.h"
#include "session/flv/flv_muxer.h"

namespace weir::session {

class FlvRoutes {
  public:
    explicit FlvRoutes(const net::Services& services) : services_(services) {}

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

  private:
    void handle(net::HttpExchange& exchange);
    static void refuse(net::HttpExchange& exchange, const Error& why);

    net::Services services_;
    net::Admission admission_{services_};
    FlvFormat format_;
};

}  // namespace weir::session
