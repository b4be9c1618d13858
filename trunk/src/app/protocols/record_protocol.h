// Recording, as app/ knows it.
#pragma once

#include "app/protocols/recordings_api.h"
#include "app/protocols/wiring.h"
#include "io/deadline.h"
#include "session/record/record_playback.h"
#include "session/record/record_service.h"
#include "session/record/record_vod.h"

namespace weir::net {
class Exposition;
}

namespace weir::app {

class RecordProtocol final : public Protocol, private session::RecordRules {
  public:
    explicit RecordProtocol(const ProtocolContext& context);
    ~RecordProtocol() override;

    std::string_view name() const override { return "record"; }

    std::span<const Transport> transports() const override;

    void add_routes(net::HttpRouter& http, net::HttpRouter& api) override {
        playback_.add_to(http);
        api_.add_to(api);
    }

    void begin_serving() override { use_folders(); }

    void reconfigure(const config::Config& config) override {
        config_ = config;
        use_folders();
    }

    void tick() override {
        service_.tick();
        playback_.tick();
    }

    Error stop(io::Deadline deadline) override { return service_.stop(deadline); }

    void add_features(net::Json& features) const override { features["record"] = true; }

    net::Json summary() const override;
    void add_metrics(net::Exposition& text) const override;

  private:
    session::RecordOptions record_options(const stream::StreamKey& key) const override;

    uint64_t min_free_of(const std::string& folder) const override;

    bool plays_recordings() const override { return plays_; }

    bool records_here(const stream::StreamKey& key) const override;

    void on_recorded(const session::RecordedFile& file) override;
    void use_folders();

    config::Config config_;  // a copy: only its vhosts are asked
    net::Services services_;
    session::RecordService service_;
    session::RecordPlayback playback_;
    session::RecordVod vod_;
    RecordingsApi api_;
    bool plays_ = false;
};

}  // namespace weir::app
