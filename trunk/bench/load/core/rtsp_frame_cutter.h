// The tracks of a source as RTSP sends them: their description, and each frame as RTP packets with
// sender reports between them. For publishers and for simulated cameras. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "proto/rtp/packetizer.h"
#include "proto/rtp/sender_stats.h"

#include "bench/load/core/frame_source.h"

namespace weir::load {

// Where packets go.
class RtspPacketSink {
  public:
    RtspPacketSink() = default;
    RtspPacketSink(const RtspPacketSink&) = delete;
    RtspPacketSink& operator=(const RtspPacketSink&) = delete;

    // One RTP or RTCP packet of a track; valid during the call.
    virtual void on_rtsp_packet(size_t track, bool rtcp, ByteSpan bytes) = 0;

  protected:
    ~RtspPacketSink() = default;
};

class RtspFrameCutter final : private rtp::PayloadSink {
  public:
    static constexpr Micros kReportInterval = Seconds(5);
    static constexpr size_t kMaxPayload = 1400;

    // `opening`: the source's. kUnsupported: RTSP has no form for one of its codecs, or there is
    // nothing to send.
    static Result<std::unique_ptr<RtspFrameCutter>> create(
        const std::vector<SourceMessage>& opening, RandomSource& random);

    // SDP. `address`: of the sender.
    std::string describe(std::string_view address) const;

    // Video first, where there is video.
    size_t tracks() const { return tracks_.size(); }

    // "trackID=0"
    static std::string control_of(size_t track);

    // The numbers of a track's next packet, for a frame of that time.
    uint16_t next_sequence(size_t track) const { return tracks_[track].sequence; }

    uint32_t rtp_time(size_t track, uint32_t time_ms) const;

    // A frame of the source. What is of no track is left out.
    void send(MonoTime now, const SourceMessage& message, RtspPacketSink& sink);

  private:
    struct Track {
        media::TrackKind kind = media::TrackKind::kVideo;
        media::Codec codec = media::Codec::kUnknown;
        Bytes config;
        std::unique_ptr<rtp::Packetizer> packetizer;
        uint8_t payload_type = 0;
        uint32_t clock_hz = 0;
        uint32_t ssrc = 0;
        uint16_t sequence = 0;
        uint32_t time_offset = 0;
        rtp::SenderStats stats;
        MonoTime next_report{};
    };

    RtspFrameCutter() = default;

    Error add_track(const SourceMessage& message, RandomSource& random);
    void on_payload(std::span<const ByteSpan> parts, bool last) override;
    void report(MonoTime now, size_t index, uint32_t time_ms);

    std::vector<Track> tracks_;

    // The frame that is being sent.
    RtspPacketSink* sink_ = nullptr;
    size_t open_ = 0;
    uint32_t open_time_ = 0;
    Bytes packet_;
};

}  // namespace weir::load
