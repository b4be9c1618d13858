// RTSP over TCP as a wire format: interleaved frames (RFC 2326 §10.12), the same for every player
// whose tracks are on the same channels. An entry is a whole frame of the stream, cut into packets,
// or the sender reports that come every few seconds.
//
// What differs per player is its front: the answer to PLAY, with the numbers of the start in
// RTP-Info, and sender reports, so that audio and video are in step from the first packet on.
#pragma once

#include <array>
#include <optional>

#include "base/object_count.h"
#include "net/rtp/rtp_cutter.h"
#include "proto/rtsp/transport.h"
#include "session/rtsp/rtsp_numbers.h"
#include "session/rtsp/rtsp_profile.h"
#include "stream/muxer.h"

namespace weir::stream {
class Stream;
}

namespace weir::session {

// Where the tracks are, by net::kRtpAudioTrack and net::kRtpVideoTrack; none: the player does not
// want it.
using RtspChannels = std::array<std::optional<rtsp::ChannelPair>, RtspNumbers::kTracks>;

// Appends an interleaved frame.
void append_rtsp_frame(uint8_t channel, ByteSpan payload, Bytes& out);

class RtspMuxer final : public stream::Muxer, private net::RtpCutter, private Counted<RtspMuxer> {
  public:
    static constexpr ObjectName kObjectName{"rtsp_muxer", "rtsp"};

    explicit RtspMuxer(const RtspChannels& channels);

    media::Audience audience() const override { return profile().audience; }

    void on_attach(const stream::Stream& stream) override { numbers_.note_stream(stream); }

    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override;

    const RtspNumbers& numbers() const { return numbers_; }

    RtspTerms terms() const { return rtsp_terms(*this); }

    const RtspChannels& channels() const { return channels_; }

    // Appends the sender reports of all tracks as they are now.
    void write_reports(MonoTime now, Bytes& out) const;

    // The packet of a lead-in in front of the start; empty: the stream needs none.
    Bytes lead_in() const;

    // BYE of all tracks.
    void write_byes(Bytes& out) const;

  private:
    void begin_frame(const stream::RtpLog::Frame& frame) override;
    void add_payload(ByteSpan head, ByteSpan body, bool marker) override;
    void end_frame() override;

    RtspChannels channels_;
    RtspNumbers numbers_;
    stream::RtpLog::Frame frame_;  // that is open
    bool wanted_ = false;          // its track has channels
    bool entry_open_ = false;
    bool starts_ = false;  // the next entry is where a player may begin
    bool rides_ = false;
};

class RtspFormat final : public stream::Format {
  public:
    explicit RtspFormat(const RtspChannels& channels) : channels_(channels) {}

    const char* name() const override { return "rtsp"; }

    std::unique_ptr<stream::Muxer> create_muxer() const override {
        return std::make_unique<RtspMuxer>(channels_);
    }

  private:
    RtspChannels channels_;
};

}  // namespace weir::session
