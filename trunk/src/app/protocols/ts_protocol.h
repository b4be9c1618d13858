// HTTP-TS and WebSocket-TS, and the gateway from multicast to them, as app/ knows them.
#pragma once

#include "app/protocols/wiring.h"
#include "session/ts/address_gateway.h"
#include "session/ts/group_forward.h"
#include "session/ts/group_pull.h"
#include "session/ts/playlist_service.h"
#include "session/ts/ts_http.h"

namespace weir::diagnosis {
class MemoryReport;
}

namespace weir::io {
class Deadline;
}

namespace weir::net {
class Sources;
}

namespace weir::app {

class TsProtocol final : public Protocol {
  public:
    explicit TsProtocol(const ProtocolContext& context);

    std::string_view name() const override { return "ts"; }

    std::span<const Transport> transports() const override;

    Error prepare(const config::Config& next, io::WorkerPool& workers) override;
    void reconfigure(const config::Config& config) override;
    Error stop(io::Deadline deadline) override;

    void add_sources(net::Sources& sources) override;
    void add_routes(net::HttpRouter& open, net::HttpRouter& api) override;
    void add_features(net::Json& features) const override;
    void add_memory(diagnosis::MemoryReport& report) const override;

  private:
    net::HttpPlay play_;
    session::PlaylistService playlist_;
    session::FastChangeHints hints_;
    session::AddressGateway gateway_;
    session::GroupPull groups_;
    session::GroupForward group_out_;
    io::WorkerPool* workers_ = nullptr;  // from the first prepare() on
};

}  // namespace weir::app
