// A stream's packets as telephones take them: an RtpLogWriter whose audio has one codec, made by a
// worker where the stream has another one, in packets of 20 ms where the codec can be cut.
#pragma once

#include <memory>
#include <string>

#include "base/object_count.h"
#include "net/rtp/audio_bridge.h"
#include "net/rtp/rtp_log_writer.h"
#include "proto/sdp/phone.h"

namespace weir::session {

// With headers of IP, UDP and RTP and the tag of SRTP within what passes everywhere.
inline constexpr size_t kMaxSipPayload = 1200;

extern const net::RtpProfile kSipProfile;

class SipLogWriter final : public net::RtpLogWriter, private Counted<SipLogWriter> {
  public:
    static constexpr ObjectName kObjectName{"sip_log", "sip"};
    static constexpr size_t kCountedInside = sizeof(stream::RtpLog);
    static constexpr int64_t kFrameMs = 20;
    // An audio frame that starts later than this behind the one before begins a new run of packets.
    static constexpr int64_t kMaxGapMs = 60;

    // `audio`: what the players agreed on; `workers`: for audio that has to be made so; null: such
    // a stream has no audio here. `name`: of the stream, for the log.
    SipLogWriter(const sdp::PhoneCodec& audio, io::WorkerPool* workers, std::string name);

  private:
    void on_audio_config(const media::MediaPacket& packet) override;
    void on_audio(const media::PacketRef& packet, bool start) override;
    void begin_bridge(const media::PacketInfo& info, ByteSpan config);
    void on_made(ByteSpan frame, int64_t time_us);
    void cut(ByteSpan samples, int64_t time_us);
    void write_audio(ByteSpan payload, uint32_t rtp_time, int64_t time_ms);

    bool is_same(media::Codec codec) const { return codec == audio_.codec; }

    sdp::PhoneCodec audio_;
    io::WorkerPool* workers_;
    std::string name_;
    std::unique_ptr<net::AudioBridge> bridge_;
    Bytes bridged_config_;
    media::Codec bridged_ = media::Codec::kUnknown;
    bool audio_starts_ = false;  // there is no video: any audio is where a player may begin
    Bytes rest_;                 // of G.711: less than a packet
    int64_t rest_us_ = 0;        // its time
};

// What this server takes and sends in calls, in its order of preference.
std::span<const sdp::PhoneCodec> sip_audio_codecs();

}  // namespace weir::session
