// RelayServer: requests of other nodes of the cluster for a stream, "GET /app/name.flv?relay=1"
// with the field Weir-Relay (proto/cluster/relay_field.h).
//
// Only who signs by the secret of the cluster is answered, or by that of the processes of this
// server where the request comes by a unix socket. Neither the rules for players nor hooks
// are asked: the other node asks them for its own viewers. The stream goes out with its publisher's
// own audio, and ends with its publisher.
//
//   403  not signed, or not by this cluster's secret
//   404  nobody publishes it here, and it is not brought for others
//   409  this node's claim is older than the one that is asked for
//   508  the stream would go in a circle, or over too many nodes
#pragma once

#include <optional>
#include <string_view>

#include "net/cluster/relay_node.h"
#include "net/http_play.h"
#include "net/services.h"
#include "net/stream_throttle.h"
#include "proto/cluster/relay_field.h"

namespace weir::net {

class RelayServer {
  public:
    // A stream that has to be pulled for the other node is waited for so long.
    static constexpr Millis kWait{2'000};

    // `format`: that of relays. What `services` names must outlive this.
    RelayServer(const Services& services, const HttpFormat& format)
        : services_(services), format_(format), play_(services, format) {}

    // Yields. False: that is no request of a node, or this node answers none.
    bool serve(HttpExchange& exchange, std::string_view app, std::string_view name);

  private:
    struct Asked {
        stream::StreamKey key;
        cluster::RelayRequest request;
    };

    std::optional<Asked> read(HttpExchange& exchange, std::string_view app, std::string_view name);
    const std::string& secret_of(HttpExchange& exchange) const;
    bool is_here(const Asked& asked);
    bool is_live(const stream::StreamKey& key) const;
    void answer(HttpExchange& exchange, const Asked& asked);
    void refuse(HttpExchange& exchange,
                const stream::StreamKey& key,
                RelayRefusal why,
                int status,
                std::string_view reason,
                const http::Fields& more = {});

    Services services_;
    const HttpFormat& format_;
    HttpPlay play_;
    StreamThrottle refused_;
};

}  // namespace weir::net
