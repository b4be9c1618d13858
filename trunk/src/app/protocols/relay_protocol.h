// Streams of other nodes of a cluster, as app/ knows them. Requests of other nodes come to the
// addresses of HTTP-FLV (flv_protocol.h).
#pragma once

#include "app/protocols/wiring.h"
#include "net/source/sources.h"
#include "session/relay/relay_pull.h"

namespace weir::net {
class Exposition;
}

namespace weir::app {

class RelayProtocol final : public Protocol {
  public:
    explicit RelayProtocol(const ProtocolContext& context)
        : node_(context.services.relays != nullptr ? *context.services.relays : none_) {}

    std::string_view name() const override { return "relay"; }

    std::span<const Transport> transports() const override;

    void add_sources(net::Sources& sources) override;
    Error prepare(const config::Config& next, io::WorkerPool& workers) override;
    void reconfigure(const config::Config& config) override;
    void add_features(net::Json& features) const override;
    void add_metrics(net::Exposition& text) const override;

  private:
    void set_options(const config::Config& config);

    net::RelayNode none_;  // where the server has none
    net::RelayNode& node_;
    net::Sources* sources_ = nullptr;
    io::WorkerPool* workers_ = nullptr;
    session::RelayPull pull_{node_, [this](const std::string& scheme) {
                                 return sources_->protocol(net::SourceRole::kPull, scheme);
                             }};
};

}  // namespace weir::app
