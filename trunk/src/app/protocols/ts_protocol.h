// HTTP-TS and WebSocket-TS, as app/ knows them.
#pragma once

#include "app/protocols/wiring.h"
#include "session/ts/group_pull.h"
#include "session/ts/ts_http.h"

namespace weir::app {

class TsProtocol final : public Protocol {
  public:
    explicit TsProtocol(const ProtocolContext& context)
        : play_(context.services, session::ts_http_format()) {}

    std::string_view name() const override { return "ts"; }

    std::span<const Transport> transports() const override;

    void add_sources(net::Sources& sources) override;
    void add_routes(net::HttpRouter& open, net::HttpRouter& api) override;
    void add_features(net::Json& features) const override;
    void add_memory(diagnosis::MemoryReport& report) const override;

  private:
    net::HttpPlay play_;
    session::GroupPull groups_;
};

}  // namespace weir::app
