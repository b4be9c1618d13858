// RTMP as a wire format: the same chunks for every player
// (doc/adr/0005-fan-out.md#the-same-rtmp-bytes-for-every-player).
//
// Audio and video have a chunk stream each; data messages ride on the one that is ahead. Log
// entries carry delta timestamps (chunk type 1) without a message stream id. What differs per
// player is its front: a type 0 header on each chunk stream, with the configurations, and the
// metadata on a chunk stream that the log does not use.
//
// All audio tracks have one chunk stream, and so one clock: that of the default track, whose times
// are exact. A frame of another one that is ahead of it has its time.
//
// There are three of these formats: one for peers that know all of Enhanced RTMP v2 (capsEx of
// connect), one for other servers that a stream is forwarded to, who get one audio track, and one
// for all other players, who get the default track of each kind (proto/flv/plain_form.h).
#pragma once

#include <array>
#include <optional>

#include "base/object_count.h"
#include "proto/flv/plain_form.h"
#include "stream/muxer.h"

namespace weir::session {

enum class RtmpTracks : uint8_t {
    kDefault,
    kOneAudio,  // of audio the default track, in its plain form; everything else as it came
    kAll,
};

class RtmpMuxer final : public stream::Muxer, private Counted<RtmpMuxer> {
  public:
    static constexpr ObjectName kObjectName{"rtmp_muxer", "rtmp"};

    RtmpMuxer(uint32_t chunk_size, RtmpTracks tracks) : chunk_size_(chunk_size), tracks_(tracks) {}

    void on_attach(const stream::Stream& stream) override;
    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override;
    void on_start_lost(stream::StartLost why) override;

    // Appends what a player with that message stream id needs before the log's start: the clock of
    // each chunk stream, set so that the player's time begins near 0, with metadata and codec
    // configurations.
    // Metadata goes to a server as @setDataFrame, in the way of publishers.
    enum class For : uint8_t { kPlayer, kServer };
    void front(uint32_t stream_id, Bytes& out, For whom = For::kPlayer) const;

  private:
    static constexpr size_t kTracks = 2;  // audio, video: indexed by TrackKind
    using Clocks = std::array<int64_t, kTracks>;

    void write(const media::PacketRef& packet, const stream::Configs* start);
    void write_one_audio(const media::PacketRef& packet, const stream::Configs* start);
    bool is_more_audio(const media::PacketInfo& info) const;
    int64_t time_of_more_audio(int64_t time_ms) const;
    bool takes(const media::PacketRef& packet, size_t track, bool start);
    void catch_up_silent_track(int64_t time_ms);
    void hear(size_t track, int64_t time_ms);
    void skip_early_audio(const stream::Configs& configs);
    void write_message(size_t track, uint8_t type, int64_t time_ms, ByteSpan body);
    size_t track_for_data() const;

    uint32_t chunk_size_;
    RtmpTracks tracks_;
    const stream::Stream* stream_ = nullptr;  // that it is attached to
    std::optional<uint8_t> default_audio_;
    flv::PlainTracks plain_;
    bool begun_ = false;
    int64_t origin_ms_ = 0;  // the earliest time that the log can have
    Clocks clocks_{};        // log time of the last message of each chunk stream
    int64_t newest_ms_ = 0;  // of all frames that came
    Clocks heard_ms_{};      // newest_ms_ when the last frame of each track came
    std::array<bool, kTracks> track_begun_{};
    std::array<bool, kTracks> has_frames_{};  // in the log
    std::array<bool, kTracks> has_heard_{};   // or too late for it
    Clocks start_clocks_{};                   // the same just before the start entry
    std::array<bool, kTracks> start_begun_{};
    stream::Configs start_configs_;
};

class RtmpFormat final : public stream::Format {
  public:
    explicit RtmpFormat(uint32_t chunk_size, RtmpTracks tracks = RtmpTracks::kDefault)
        : chunk_size_(chunk_size), tracks_(tracks) {}

    const char* name() const override { return "rtmp"; }

    std::unique_ptr<stream::Muxer> create_muxer() const override {
        return std::make_unique<RtmpMuxer>(chunk_size_, tracks_);
    }

  private:
    uint32_t chunk_size_;
    RtmpTracks tracks_;
};

}  // namespace weir::session
