// RTP as a stream's wire format: packetises each frame once, into the RtpLog that all WebRTC
// players of the stream read.
//
// One video and one audio track, the first of each; of simulcast, each layer. Frames that WebRTC
// cannot show in order are left out: B-frames that nothing refers to. A stream whose B-frames are
// referred to cannot be played by WebRTC at all; refusal() says so.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/object_count.h"
#include "media/codec.h"
#include "proto/rtp/packetizer.h"
#include "proto/sdp/codec.h"
#include "session/webrtc/audio_bridge.h"
#include "session/webrtc/rtc_layers.h"
#include "stream/muxer.h"
#include "stream/rtp_log.h"
#include "stream/stream.h"

namespace weir::session {

inline constexpr uint8_t kRtpAudioTrack = 0;
inline constexpr uint8_t kRtpVideoTrack = 1;  // of simulcast layer 0; the others follow
static_assert(kRtpVideoTrack + kMaxLayers <= stream::RtpLog::kTracks);

// Of a payload in the log: what with RTP header, extensions, the number of RTX and the tag of SRTP
// stays within the 1,200 bytes that pass everywhere.
inline constexpr size_t kMaxRtpPayload = 1156;

// What a track's packets are; changes when the publisher does.
struct RtpTrack {
    sdp::SendCodec codec;  // kUnknown: there is no such track
    uint32_t clock_hz = 90'000;
};

class RtpMuxer final : public stream::PacketSink,
                       private rtp::PayloadSink,
                       private Counted<RtpMuxer> {
  public:
    static constexpr ObjectName kObjectName{"rtp_muxer", "webrtc"};
    static constexpr size_t kCountedInside = sizeof(stream::RtpLog);

    // `workers`: for sound that has to be made Opus; null: such a stream has no sound here. `name`:
    // of the stream, for the log.
    RtpMuxer(io::WorkerPool* workers, int64_t opus_bits_per_second, std::string name)
        : workers_(workers), opus_bps_(opus_bits_per_second), name_(std::move(name)) {}

    media::Audience audience() const override { return media::Audience::kWebRtc; }

    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override;

    // A publisher that comes may be one without B-frames.
    void on_start_lost() override {
        refusal_ = {};
        log_.forget_start();
    }

    stream::RtpLog& log() { return log_; }

    const stream::RtpLog& log() const { return log_; }

    // Of pictures: kRtpVideoTrack, for all layers.
    const RtpTrack& track(uint8_t index) const { return tracks_[index]; }

    const RtcLayers& layers() const { return layers_; }

    // Whose layers these are; without it there is no simulcast. It must outlive this.
    void set_stream(const stream::Stream& stream) { stream_ = &stream; }

    // Why nobody can play this stream by WebRTC; empty when one can.
    std::string_view refusal() const { return refusal_; }

    // Frames that were left out: B-frames, and such as could not be cut into packets.
    uint64_t skipped_frames() const { return skipped_; }

  private:
    void on_payload(std::span<const ByteSpan> parts, bool last) override;
    void look_at_layers();
    void take_video_config(const media::MediaPacket& packet);
    void take_audio_config(const media::MediaPacket& packet);
    void on_video(const media::MediaPacket& packet, bool start);
    bool is_behind(const media::MediaPacket& packet);
    void on_audio(const media::PacketRef& packet, bool start);
    void on_opus(ByteSpan frame, int64_t time_us);
    bool use_codec(uint8_t index, media::Codec codec);
    void write(uint8_t index, const media::MediaPacket& packet, bool start, bool discardable);

    io::WorkerPool* workers_;
    int64_t opus_bps_;
    std::string name_;
    stream::RtpLog log_;
    std::unique_ptr<AudioBridge> bridge_;
    Bytes bridged_config_;
    bool audio_starts_ = false;  // there is no video: any sound is where a player may begin
    RtpTrack tracks_[stream::RtpLog::kTracks];
    std::unique_ptr<rtp::Packetizer> packetizers_[stream::RtpLog::kTracks];
    const stream::Stream* stream_ = nullptr;
    RtcLayers layers_;
    Bytes video_configs_[kMaxLayers];       // in force
    size_t length_size_ = 4;                // of H.264 and HEVC
    int64_t highest_shown_ms_ = INT64_MIN;  // since the last key frame, of HEVC
    std::string_view refusal_;
    uint64_t skipped_ = 0;
    Bytes joined_;  // of a payload of several parts
};

}  // namespace weir::session
