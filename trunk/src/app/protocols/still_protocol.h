// Pictures of streams, as app/ knows them.
#pragma once

#include "app/protocols/wiring.h"
#include "session/still/still_service.h"

namespace weir::net {
class Exposition;
}

namespace weir::app {

class StillProtocol final : public Protocol, private session::StillRules {
  public:
    explicit StillProtocol(const ProtocolContext& context)
        : config_(context.config),
          services_(context.services),
          service_(context.services, *this, context.make_workers) {}

    std::string_view name() const override { return "still"; }

    std::span<const Transport> transports() const override;

    void add_routes(net::HttpRouter& open, net::HttpRouter&) override { service_.add_to(open); }

    void reconfigure(const config::Config& config) override { config_ = config; }

    void tick() override { service_.tick(MonoClock::now()); }

    void add_stream_facts(const stream::Stream& stream, net::Json& json) const override;
    void add_metrics(net::Exposition& text) const override;

  private:
    bool has_stills(const stream::StreamKey& key) const override;

    config::Config config_;  // a copy: only its vhosts are asked
    net::Services services_;
    session::StillService service_;
};

}  // namespace weir::app
