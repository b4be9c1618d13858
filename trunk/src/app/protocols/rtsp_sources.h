// Streams that come from other servers by RTSP, as app/ knows them.
#pragma once

#include "app/protocols/protocol.h"
#include "session/rtsp/rtsp_pull.h"

namespace weir::app {

class RtspSources final : public Protocol {
  public:
    std::string_view name() const override { return "rtsp_sources"; }

    std::span<const Transport> transports() const override { return {}; }

    void add_sources(net::Sources& sources) override {
        for (const char* scheme : {"rtsp", "rtsps"}) {
            sources.add(net::SourceRole::kPull, scheme, pull_);
        }
    }

  private:
    session::RtspPull pull_;
};

}  // namespace weir::app
