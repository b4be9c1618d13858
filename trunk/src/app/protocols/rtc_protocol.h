// WebRTC, as app/ knows it: options, listeners, and what API, metrics and log say of it.
#pragma once

#include "app/protocols/wiring.h"
#include "app/run/listener_service.h"
#include "session/webrtc/rtc_json_api.h"
#include "session/webrtc/rtc_log.h"
#include "session/webrtc/rtc_routes.h"
#include "session/webrtc/rtc_server.h"
#include "session/webrtc/whep_pull.h"

namespace weir::diagnosis {
class MemoryReport;
}

namespace weir::io {
class Deadline;
}

namespace weir::net {
class Exposition;
class Sources;
}  // namespace weir::net

namespace weir::app {

class RtcProtocol final : public Protocol {
  public:
    explicit RtcProtocol(const ProtocolContext& context);

    // WEIR_CANDIDATE and CANDIDATE: names that are older than those of the table, and that other
    // software uses too.
    static Error apply_environment(config::Config& config, const config::Environment& environment);

    // For tests.
    session::RtcServer& server() { return server_; }

    std::string_view name() const override { return "webrtc"; }

    std::span<const Transport> transports() const override;

    void add_routes(net::HttpRouter& open, net::HttpRouter& api) override;
    std::vector<ListenerService> listeners() override;
    Error prepare(const config::Config& next, io::WorkerPool& workers) override;
    void reconfigure(const config::Config& config) override;
    void add_sources(net::Sources& sources) override;
    void tick() override;

    void start_drain() override { server_.stop_accepting(); }

    Error stop(io::Deadline deadline) override;

    void add_features(net::Json& features) const override;
    net::Json summary() const override;
    void add_stream_facts(const stream::Stream& stream, net::Json& json) const override;
    void add_metrics(net::Exposition& text) const override;
    void add_memory(diagnosis::MemoryReport& report) const override;

  private:
    bool one_port_;  // of all processes
    session::RtcServer server_;
    session::WhepPull pull_;  // whether the server is on or not
    io::WorkerPool* workers_ = nullptr;
    session::RtcRoutes routes_;
    session::RtcJsonApi json_;
    session::RtcLog log_;
    bool told_source_ = false;  // of the candidates, in the log
};

}  // namespace weir::app
