// RTSP, as app/ knows it.
#pragma once

#include "app/protocols/wiring.h"
#include "app/run/listener_service.h"
#include "io/deadline.h"
#include "session/rtsp/rtsp_forward.h"
#include "session/rtsp/rtsp_pull.h"
#include "session/rtsp/rtsp_server.h"

namespace weir::diagnosis {
class MemoryReport;
}

namespace weir::net {
class Exposition;
class Sources;
}  // namespace weir::net

namespace weir::app {

class RtspProtocol final : public Protocol {
  public:
    explicit RtspProtocol(const ProtocolContext& context);

    std::string_view name() const override { return "rtsp"; }

    std::span<const Transport> transports() const override;

    std::vector<ListenerService> listeners() override;
    Error prepare(const config::Config& next, io::WorkerPool& workers) override;
    void reconfigure(const config::Config& config) override;
    void add_sources(net::Sources& sources) override;

    void start_drain() override { server_.stop_accepting(); }

    Error stop(io::Deadline deadline) override { return server_.stop(deadline); }

    void add_features(net::Json& features) const override;
    net::Json summary() const override;
    void add_page_facts(net::Json& head) const override;
    void add_metrics(net::Exposition& text) const override;
    void add_memory(diagnosis::MemoryReport& report) const override;

  private:
    session::RtspServer server_;
    session::RtspPull pull_;
    session::RtspForward forward_{server_};
    bool enabled_;
    uint16_t port_;  // of rtsp:// addresses; 0: unknown
};

}  // namespace weir::app
