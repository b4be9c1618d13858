// MPEG-TS as a wire format: packets of one programme, the same for every player.
//
// The first video and the first audio track are carried, where a transport stream can carry their
// codec; what comes in other codecs is left out. One PES packet holds one frame: nothing waits for
// another.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/object_count.h"
#include "proto/mpegts/es_writer.h"
#include "proto/mpegts/writer.h"
#include "stream/muxer.h"

namespace weir::net {

class TsMuxer final : public stream::Muxer, private Counted<TsMuxer> {
  public:
    static constexpr ObjectName kObjectName{"ts_muxer", "ts"};

    // `pcr_gap`: of the Writer.
    explicit TsMuxer(int64_t pcr_gap = mpegts::Writer::kPcrEach) : writer_(pcr_gap) {}

    media::Audience audience() const override { return media::Audience::kMpeg; }

    // What is kept may begin with a frame of another audio track.
    void on_attach(const stream::Stream& stream) override;
    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override;

    // Appends what a player needs before the log's start: tables, and audio that came before it.
    // `moved`: it read something else before, and is told that counters do not go on.
    void front(bool moved, Bytes& out) const;

  private:
    // One of the two tracks.
    struct Track {
        std::optional<uint8_t> id;  // of the first one of its kind
        std::optional<mpegts::EsWriter> frames;
    };

    static constexpr size_t kVideo = 0;  // index of the stream
    static constexpr size_t kAudio = 1;

    Track* track_of(const media::PacketInfo& info);
    void take_config(const media::MediaPacket& packet);
    void tell_streams();
    static mpegts::Writer::Frame frame_of(const media::MediaPacket& packet,
                                          std::span<const ByteSpan> parts);

    mpegts::Writer writer_;
    const stream::Stream* stream_ = nullptr;  // that it is attached to
    std::array<Track, 2> tracks_;
    Bytes packets_;  // of the newest frame

    // Of the log's start:
    mpegts::Writer start_;
    Track start_audio_;
    std::vector<media::PacketRef> early_;  // audio of before
};

class TsFormat final : public stream::Format {
  public:
    const char* name() const override { return "ts"; }

    std::unique_ptr<stream::Muxer> create_muxer() const override {
        // Packets without payload only where the standard needs them: go2rtc 1.9 ends at one.
        return std::make_unique<TsMuxer>(mpegts::Writer::kMaxPcrGap);
    }
};

}  // namespace weir::net
