// FLV as a wire format: tags with absolute times, the same for every player. The log's origin is
// its first packet. Players have no way to say what they know, so they get the default track of
// each kind (proto/flv/plain_form.h).
#pragma once

#include "base/object_count.h"
#include "proto/flv/plain_form.h"
#include "stream/muxer.h"

namespace weir::session {

class FlvMuxer : public stream::Muxer, private Counted<FlvMuxer> {
  public:
    static constexpr ObjectName kObjectName{"flv_muxer", "flv"};

    void on_attach(const stream::Stream& stream) override;
    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override;
    void on_start_lost(stream::StartLost why) override;

    // Appends the tags of the metadata and codec configurations in force at the log's start.
    void front(Bytes& out) const;

  protected:
    // What a tag has in the place of its stream id.
    virtual uint32_t stream_id(const media::PacketInfo&) const { return 0; }

    // Whoever reads it knows all of Enhanced RTMP.
    virtual bool takes_all_tracks() const { return false; }

  private:
    uint32_t tag_time(int64_t time_ms) const;
    void write(const media::PacketRef& packet, const stream::Configs* start);

    bool begun_ = false;
    int64_t origin_ms_ = 0;
    int64_t start_ms_ = 0;
    stream::Configs start_configs_;
    const stream::Stream* stream_ = nullptr;  // that it is attached to
    flv::PlainTracks plain_;
};

class FlvFormat final : public stream::Format {
  public:
    const char* name() const override { return "flv"; }

    std::unique_ptr<stream::Muxer> create_muxer() const override {
        return std::make_unique<FlvMuxer>();
    }
};

}  // namespace weir::session
