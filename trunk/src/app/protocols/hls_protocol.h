// HLS, as app/ knows it.
#pragma once

#include "app/protocols/wiring.h"
#include "session/hls/hls_service.h"

namespace weir::diagnosis {
class MemoryReport;
}

namespace weir::net {
class Exposition;
}

namespace weir::app {

class HlsProtocol final : public Protocol, private session::HlsRules {
  public:
    explicit HlsProtocol(const ProtocolContext& context);

    std::string_view name() const override { return "hls"; }

    std::span<const Transport> transports() const override;

    void add_routes(net::HttpRouter& open, net::HttpRouter&) override { service_.add_to(open); }

    void begin_serving() override { use_folders(); }

    void reconfigure(const config::Config& config) override {
        config_ = config;
        use_folders();
    }

    void tick() override { service_.tick(); }

    Error stop(io::Deadline deadline) override {
        service_.stop(deadline);
        return {};
    }

    void add_features(net::Json& features) const override;
    void add_stream_facts(const stream::Stream& stream, net::Json& json) const override;
    net::Json summary() const override;
    void add_metrics(net::Exposition& text) const override;
    void add_memory(diagnosis::MemoryReport& report) const override;

  private:
    // Of all streams that are watched by HLS now.
    struct Totals {
        uint64_t streams = 0;
        uint64_t sessions = 0;
        uint64_t waiting = 0;
        uint64_t bytes = 0;
    };

    session::HlsOptions hls_options(const stream::StreamKey& key) const override;
    Totals totals() const;
    void use_folders();

    config::Config config_;  // a copy: only its vhosts are asked
    session::HlsService service_;
};

}  // namespace weir::app
