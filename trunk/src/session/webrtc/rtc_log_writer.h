// A stream's packets as WebRTC takes them: an RtpLogWriter with simulcast layers, with audio made
// Opus where its codec is one that browsers do not take, and with video that waits for audio that
// comes late (LateAudio).
#pragma once

#include <memory>
#include <string>

#include "base/object_count.h"
#include "net/rtp/audio_bridge.h"
#include "net/rtp/late_audio.h"
#include "net/rtp/rtp_log_writer.h"
#include "session/webrtc/rtc_layers.h"
#include "stream/stream.h"

namespace weir::session {

using net::kRtpAudioTrack;
using net::kRtpVideoTrack;

// Size of a payload: with RTP header, extensions, the number of RTX and the tag of SRTP it stays
// within the 1,200 bytes that pass everywhere.
inline constexpr size_t kMaxRtcPayload = 1156;

extern const net::RtpProfile kRtcProfile;

class RtcLogWriter final : public net::RtpLogWriter, private Counted<RtcLogWriter> {
  public:
    static constexpr ObjectName kObjectName{"rtp_muxer", "webrtc"};
    static constexpr size_t kCountedInside = sizeof(stream::RtpLog);

    // `workers`: for audio that has to be made Opus; null: such a stream has no audio here. `name`:
    // of the stream, for the log.
    RtcLogWriter(io::WorkerPool* workers, int64_t opus_bits_per_second, std::string name)
        : RtpLogWriter(kRtcProfile),
          workers_(workers),
          opus_bps_(opus_bits_per_second),
          name_(std::move(name)) {}

    const RtcLayers& layers() const { return layers_; }

    // Whose layers these are, and whose clock is ours; without it there is no simulcast, and late
    // audio is not waited for. It must outlive this.
    void set_stream(const stream::Stream& stream) { stream_ = &stream; }

    // What was published so far is held until release(): LateAudio::gather().
    void gather() { late_audio_.gather(); }

    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override;
    void on_start_lost(stream::StartLost why) override;
    MonoTime release(MonoTime now) override;

  private:
    void write_held();
    MonoTime write_due(MonoTime now);
    void on_start() override;
    void on_video_frame(uint8_t layer, const media::MediaPacket& packet) override;
    void on_audio_config(const media::MediaPacket& packet) override;
    void on_audio(const media::PacketRef& packet, bool start) override;
    void on_opus(ByteSpan frame, int64_t time_us);

    io::WorkerPool* workers_;
    int64_t opus_bps_;
    std::string name_;
    const stream::Stream* stream_ = nullptr;
    RtcLayers layers_;
    net::LateAudio late_audio_;
    std::unique_ptr<net::AudioBridge> bridge_;
    Bytes bridged_config_;
    bool audio_starts_ = false;  // there is no video: any audio is where a player may begin
};

}  // namespace weir::session
