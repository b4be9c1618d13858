// A stream's packets as RTP payloads: cuts each frame once, into whatever derives from this: the
// RtpLog that all RTP players of one profile read (RtpLogWriter), or the wire log of RTSP over TCP.
//
// One video and one audio track, the first of each; of simulcast, each layer. Where players show
// frames as they come (RtpProfile::BFrames::kLeaveOut), B-frames that nothing refers to are left
// out, and a stream whose B-frames are referred to cannot be played at all; refusal() says so.
// Never yields.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "media/codec.h"
#include "net/rtp/rtp_profile.h"
#include "proto/rtp/packetizer.h"
#include "proto/sdp/codec.h"
#include "stream/muxer.h"
#include "stream/rtp_log.h"

namespace weir::net {

// What a track's packets are; changes when the publisher does.
struct RtpTrack {
    sdp::SendCodec codec;        // kUnknown: there is no such track
    uint32_t clock_hz = 90'000;  // of AAC its sample rate, once it is known
};

class RtpCutter : private rtp::PayloadSink {
  public:
    // `profile` must outlive this.
    explicit RtpCutter(const RtpProfile& profile);
    virtual ~RtpCutter() = default;

    const RtpProfile& profile() const { return profile_; }

    // The video track is kRtpVideoTrack, whatever the layers.
    const RtpTrack& track(uint8_t index) const { return tracks_[index]; }

    // The payload of a track's sequence header in force: avcC, hvcC, AudioSpecificConfig ...;
    // empty: there is none. Of audio only what has an RTP payload format here and this profile
    // takes.
    ByteSpan config(uint8_t index) const { return configs_[index]; }

    // Grows when the codec of a track or the configuration of the audio changes: what a description
    // says, and packets do not.
    uint32_t edition() const { return edition_; }

    // Why nobody can play this stream by this profile; empty when one can.
    std::string_view refusal() const { return refusal_; }

    // Audio frames that begin further behind the end of the one before have had silence in front.
    static constexpr int64_t kSilenceMs = 100;

    // Frames that were left out: B-frames, and such as could not be cut into packets.
    uint64_t skipped_frames() const { return skipped_; }

  protected:
    // Takes what PacketSink::on_packet() was given.
    void cut(const media::PacketRef& packet, const stream::Configs* start);

    // A publisher that comes may be one without B-frames.
    void forget_refusal() { refusal_ = {}; }

    // ---- where the payloads go ----

    virtual void begin_frame(const stream::RtpLog::Frame& frame) = 0;

    // The payload is both, one behind the other. `marker`: of its packet.
    virtual void add_payload(ByteSpan head, ByteSpan body, bool marker) = 0;

    // Also of a frame that gave no payload.
    virtual void end_frame() = 0;

    // ---- what a protocol adds ----

    // A player may begin at the packet that comes next; the stream may have another publisher.
    virtual void on_start() {}

    // A video frame is about to be written.
    virtual void on_video_frame(uint8_t /*layer*/, const media::MediaPacket& /*packet*/) {}

    virtual void on_audio_config(const media::MediaPacket& /*packet*/) {}

    // An audio frame. The default writes it when the profile takes its codec.
    virtual void on_audio(const media::PacketRef& packet, bool start);

    // ---- what it may use for that ----

    // False: the codec has no RTP payload format here.
    bool use_codec(uint8_t index, media::Codec codec);

    // Writes a frame of the track `frame.track`, whose codec must be in use; sets its marker.
    void write(stream::RtpLog::Frame frame, ByteSpan payload);

  private:
    void on_payload(std::span<const ByteSpan> parts, bool last) override;
    bool is_video_track(const media::PacketInfo& info) const;
    uint8_t layer_of(const media::PacketInfo& info) const;
    bool take_codec(uint8_t index, media::Codec codec);
    void take_audio_config(const media::MediaPacket& packet);
    void take_video_config(const media::MediaPacket& packet);
    void on_video(const media::MediaPacket& packet, bool start);
    bool begins_talkspurt(const stream::RtpLog::Frame& frame, ByteSpan payload);
    bool is_behind(const media::MediaPacket& packet);
    bool leave_out(const media::MediaPacket& packet, bool& discardable);
    void write_packet(uint8_t index,
                      const media::MediaPacket& packet,
                      bool start,
                      bool discardable);

    static constexpr size_t kTracks = stream::RtpLog::kTracks;

    const RtpProfile& profile_;
    std::array<RtpTrack, kTracks> tracks_;
    std::array<std::unique_ptr<rtp::Packetizer>, kTracks> packetizers_;
    std::array<Bytes, kTracks> configs_;  // in force
    uint32_t edition_ = 0;
    size_t length_size_ = 4;                // of H.264 and HEVC
    int64_t highest_shown_ms_ = INT64_MIN;  // since the last key frame, of HEVC
    bool marker_ = true;                    // on the last packet of the frame that is being cut
    std::optional<uint32_t> audio_end_;     // RTP time
    std::string_view refusal_;
    uint64_t skipped_ = 0;
    Bytes joined_;  // of a payload of several parts
};

}  // namespace weir::net
