// "/app/stream.flv" over HTTP and WebSocket: from the request to a player of the stream's pump.
#pragma once

#include <memory>

#include "base/log.h"
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
    std::unique_ptr<net::Client> new_client(net::HttpExchange& exchange,
                                            const stream::StreamKey& key) const;
    bool ask_hooks(net::HttpExchange& exchange, net::Client& client, std::string_view token);
    void log_refused(const stream::StreamKey& key,
                     const net::HttpExchange& exchange,
                     const Error& why);

    net::Services services_;
    FlvFormat format_;
    log::Throttle refused_{Millis(1000)};  // a peer can ask again at once
};

}  // namespace weir::session
