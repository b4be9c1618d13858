// HTTP-FLV and WebSocket-FLV, as app/ knows them.
#pragma once

#include "app/protocols/wiring.h"
#include "net/cluster/relay_server.h"
#include "session/flv/flv_http.h"
#include "session/flv/flv_pull.h"

namespace weir::diagnosis {
class MemoryReport;
}

namespace weir::net {
class Sources;
}

namespace weir::app {

class FlvProtocol final : public Protocol {
  public:
    explicit FlvProtocol(const ProtocolContext& context)
        : play_(context.services, session::flv_http_format()),
          relays_(context.services, session::relay_http_format()) {}

    std::string_view name() const override { return "flv"; }

    std::span<const Transport> transports() const override;

    void add_sources(net::Sources& sources) override;
    void add_routes(net::HttpRouter& open, net::HttpRouter& api) override;
    void add_features(net::Json& features) const override;
    void add_memory(diagnosis::MemoryReport& report) const override;

  private:
    net::HttpPlay play_;
    net::RelayServer relays_;  // requests of other nodes
    session::FlvPull pull_;
};

}  // namespace weir::app
