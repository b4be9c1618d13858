// Recording, as app/ knows it.
#pragma once

#include "app/protocols/recordings_api.h"
#include "app/protocols/wiring.h"
#include "session/record/record_service.h"

namespace weir::app {

class RecordProtocol final : public Protocol, private session::RecordRules {
  public:
    explicit RecordProtocol(const ProtocolContext& context);

    std::string_view name() const override { return "record"; }

    std::span<const Transport> transports() const override { return {}; }

    void add_routes(net::HttpRouter&, net::HttpRouter& api) override { api_.add_to(api); }

    void begin_serving() override { use_folders(); }

    void reconfigure(const config::Config& config) override {
        config_ = config;
        use_folders();
    }

    void tick() override { service_.tick(); }

    Error stop(io::Deadline deadline) override { return service_.stop(deadline); }

    void add_features(net::Json& features) const override { features["record"] = true; }

    net::Json summary() const override;
    void add_metrics(net::Exposition& text) const override;

  private:
    session::RecordOptions record_options(const stream::StreamKey& key) const override;
    void on_recorded(const session::RecordedFile& file) override;
    void use_folders();

    config::Config config_;  // a copy: only its vhosts are asked
    net::Services services_;
    session::RecordService service_;
    RecordingsApi api_;
};

}  // namespace weir::app
