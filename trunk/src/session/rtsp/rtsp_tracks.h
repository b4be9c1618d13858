// What RTSP players are told of a stream: its codecs and their configurations, as they are now.
// Made for one DESCRIBE or SETUP; it is a sink of the stream meanwhile. Never yields.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "media/codec.h"
#include "net/vod_source.h"
#include "session/rtsp/rtsp_numbers.h"
#include "session/rtsp/rtsp_profile.h"
#include "session/rtsp/rtsp_srtp.h"
#include "stream/muxer.h"
#include "stream/stream.h"

namespace weir::session {

class RtspTracks final : public stream::PacketSink {
  public:
    // Of a stream's life: a track that has not shown up by then is none.
    static constexpr Millis kSettled{2'000};
    // A track that the stream has, and that has sent nothing since the newest key frame, is waited
    // for so long.
    static constexpr Millis kNextFrame{500};

    struct Track {
        media::Codec codec = media::Codec::kUnknown;  // there is none, or RTSP does not carry it
        Bytes config;                                 // payload of its sequence header
        uint32_t clock_hz = 0;
        uint8_t channels = 2;
    };

    RtspTracks(stream::Stream& stream, MonoTime now);

    // Of a recording, which is a sink of nothing.
    RtspTracks(const net::VodSource& recording, std::string name);

    ~RtspTracks() override;

    media::Audience audience() const override { return kRtspProfile.audience; }

    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override;

    void on_start_lost(stream::StartLost) override {}

    // All that the stream has is known.
    bool complete(MonoTime now) const;

    // Something can be played.
    bool any() const;

    // By net::kRtpAudioTrack, net::kRtpVideoTrack.
    bool has(uint8_t index) const { return tracks_[index].codec != media::Codec::kUnknown; }

    const Track& track(uint8_t index) const { return tracks_[index]; }

    RtspTerms terms() const;

    // Names of codecs that RTSP does not carry, "SPEEX"; empty: there are none.
    const std::string& left_out() const { return left_out_; }

    // The answer to DESCRIBE. `address`: of the server, as the client reached it.
    // `key`: of RTP/SAVP; none: RTP/AVP.
    std::string describe(std::string_view address,
                         const std::optional<RtspSrtpKey>& key = {}) const;

  private:
    void take(const media::MediaPacket& packet);

    void take_codec(media::Codec codec, uint8_t index);

    bool lacks_a_track() const;

    stream::Stream* stream_ = nullptr;  // null: it is a recording
    MonoTime began_{};
    std::string name_;
    int64_t duration_ms_ = 0;  // of a recording; 0: open
    std::array<Track, RtspNumbers::kTracks> tracks_;
    std::string left_out_;
};

}  // namespace weir::session
