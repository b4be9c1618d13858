// SRT, as app/ knows it.
#pragma once

#include <memory>

#include "app/protocols/wiring.h"
#include "app/run/listener_service.h"
#include "io/deadline.h"
#include "session/srt/srt_call.h"
#include "session/srt/srt_server.h"

namespace weir::diagnosis {
class MemoryReport;
}

namespace weir::net {
class Exposition;
class Sources;
}  // namespace weir::net

namespace weir::app {

class SrtProtocol final : public Protocol {
  public:
    explicit SrtProtocol(const ProtocolContext& context);

    std::string_view name() const override { return "srt"; }

    std::span<const Transport> transports() const override;

    std::vector<ListenerService> listeners() override;
    Error prepare(const config::Config& next, io::WorkerPool& workers) override;
    void reconfigure(const config::Config& config) override;
    void add_sources(net::Sources& sources) override;

    void start_drain() override { server_.stop_accepting(); }

    Error stop(io::Deadline deadline) override { return server_.stop(deadline); }

    void add_features(net::Json& features) const override;
    void add_page_facts(net::Json& head) const override;
    net::Json summary() const override;
    void add_metrics(net::Exposition& text) const override;
    void add_memory(diagnosis::MemoryReport& report) const override;

  private:
    session::SrtServer server_;
    session::SrtPull pull_{server_};
    session::SrtForward forward_{server_};
    std::shared_ptr<const session::SrtRules> prepared_;  // of the newest prepare()
    bool serving_ = false;                               // rules are in force
    bool enabled_;
    uint16_t port_;  // of addresses on pages; 0: none
};

}  // namespace weir::app
