// RTMP, as app/ knows it.
#pragma once

#include "app/protocols/wiring.h"
#include "app/run/listener_service.h"
#include "io/deadline.h"
#include "session/rtmp/rtmp_forward.h"
#include "session/rtmp/rtmp_pull.h"
#include "session/rtmp/rtmp_server.h"

namespace weir::diagnosis {
class MemoryReport;
}

namespace weir::net {
class Sources;
}

namespace weir::app {

class RtmpProtocol final : public Protocol {
  public:
    explicit RtmpProtocol(const ProtocolContext& context);

    std::string_view name() const override { return "rtmp"; }

    std::span<const Transport> transports() const override;

    void add_sources(net::Sources& sources) override;
    std::vector<ListenerService> listeners() override;
    void reconfigure(const config::Config& config) override;

    void start_drain() override { server_.stop_accepting(); }

    Error stop(io::Deadline deadline) override { return server_.stop(deadline); }

    void add_features(net::Json& features) const override;
    void add_page_facts(net::Json& head) const override;
    void add_memory(diagnosis::MemoryReport& report) const override;

  private:
    session::RtmpServer server_;
    session::RtmpPull pull_;
    session::RtmpForward forward_{server_};
    uint16_t port_;  // of rtmp:// addresses; 0: unknown
};

}  // namespace weir::app
