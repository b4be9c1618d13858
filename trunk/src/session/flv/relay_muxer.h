// FLV as other nodes of a cluster get it: each audio as it was published, with a word for whom it
// is, and an edition for each publisher.
#pragma once

#include "proto/cluster/relay_tag.h"
#include "session/flv/flv_muxer.h"

namespace weir::session {

class RelayMuxer final : public FlvMuxer {
  public:
    media::Audience audience() const override { return media::Audience::kOriginal; }

    void on_start_lost(stream::StartLost why) override {
        if (why == stream::StartLost::kPublisherCame || why == stream::StartLost::kPublisherGone) {
            set_edition(edition() + 1);
        }
        FlvMuxer::on_start_lost(why);
    }

  private:
    uint32_t stream_id(const media::PacketInfo& info) const override {
        return cluster::relay_stream_id(info.audience);
    }

    bool takes_all_tracks() const override { return true; }
};

class RelayFormat final : public stream::Format {
  public:
    const char* name() const override { return "relay"; }

    std::unique_ptr<stream::Muxer> create_muxer() const override {
        return std::make_unique<RelayMuxer>();
    }
};

}  // namespace weir::session
