#include "session/sip/sip_log_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "session/sip/voice_line.h"

namespace weir::session {
namespace {

using media::Codec;

constexpr int64_t kMicrosPerMilli = 1000;
constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr size_t kG711BytesPerMs = 8;
constexpr size_t kG711Frame = kG711BytesPerMs * SipLogWriter::kFrameMs;
constexpr uint32_t kG722Rate = 16'000;  // of samples; its RTP clock says 8,000 (RFC 3551 §4.5.2)
constexpr int64_t kTelephoneBps = 32'000;  // of Opus and Speex

constexpr std::array<sdp::PhoneCodec, 6> kCodecs{{
    {Codec::kOpus, 48'000, 96},
    {Codec::kG722, 8'000, 9},
    {Codec::kG711U, 8'000, 0},
    {Codec::kG711A, 8'000, 8},
    {Codec::kSpeex, 16'000, 97},
    {Codec::kSpeex, 8'000, 98},
}};

bool is_phone_audio(Codec codec) {
    return std::ranges::any_of(kCodecs, [codec](const auto& each) { return each.codec == codec; });
}

}  // namespace

std::span<const sdp::PhoneCodec> sip_audio_codecs() {
    return kCodecs;
}

constinit const net::RtpProfile kSipProfile = {
    .audience = media::Audience::kWebRtc,
    .max_payload_bytes = kMaxSipPayload,
    .b_frames = net::RtpProfile::BFrames::kLeaveOut,
    .takes =
        [](Codec codec) {
            return codec == Codec::kH264 || codec == Codec::kVp8 || is_phone_audio(codec);
        },
    .b_frame_refusal = [](Codec) -> std::string_view {
        return "its B-frames are referred to: telephones cannot show it";
    },
};

SipLogWriter::SipLogWriter(const sdp::PhoneCodec& audio, io::WorkerPool* workers, std::string name)
    : RtpLogWriter(kSipProfile), audio_(audio), workers_(workers), name_(std::move(name)) {}

void SipLogWriter::on_audio_config(const media::MediaPacket& packet) {
    if (!is_same(packet.info().codec)) {
        begin_bridge(packet.info(), packet.payload());
    }
}

void SipLogWriter::begin_bridge(const media::PacketInfo& info, ByteSpan config) {
    if (workers_ == nullptr || audio_.codec == Codec::kUnknown ||
        (bridge_ && bridged_ == info.codec && std::ranges::equal(config, bridged_config_))) {
        return;
    }
    bridged_ = info.codec;
    bridged_config_.assign(config.begin(), config.end());
    transcode::AudioOptions options;
    options.from = info.codec;
    options.from_config = bridged_config_;
    options.to = audio_.codec;
    options.to_rate = audio_.codec == Codec::kG722 ? kG722Rate : audio_.clock_hz;
    options.to_channels = 1;
    options.frame_duration = Millis(kFrameMs);
    options.bits_per_second = kTelephoneBps;
    options.voice = true;
    bridge_ = std::make_unique<net::AudioBridge>(
        *workers_, options, name_,
        [this](ByteSpan frame, int64_t time_us) { on_made(frame, time_us); });
    use_codec(net::kRtpAudioTrack, audio_.codec);
}

void SipLogWriter::on_audio(const media::PacketRef& packet, bool start) {
    const Codec codec = packet->info().codec;
    audio_starts_ = start;
    if (audio_.codec == Codec::kUnknown) {
        return;
    }
    if (!is_same(codec)) {
        // AAC has its configuration in front; others may.
        if (codec != Codec::kAac && !(bridge_ && bridged_ == codec)) {
            begin_bridge(packet->info(), {});
        }
        if (bridge_) {
            log().note_coming(net::kRtpAudioTrack, packet->time_ms());
            bridge_->push(packet);
        }
        return;
    }
    if (bridge_) {
        bridge_.reset();
        rest_.clear();
    }
    if (is_g711(codec)) {
        use_codec(net::kRtpAudioTrack, codec);
        cut(packet->payload(), packet->time_ms() * kMicrosPerMilli);
    } else {
        RtpLogWriter::on_audio(packet, start);
    }
}

void SipLogWriter::on_made(ByteSpan frame, int64_t time_us) {
    if (is_g711(audio_.codec)) {
        cut(frame, time_us);
        return;
    }
    const auto rtp_time =
        static_cast<uint32_t>(time_us * int64_t{audio_.clock_hz} / kMicrosPerSecond);
    write_audio(frame, rtp_time, time_us / kMicrosPerMilli);
}

// Bytes are samples: packets of equal length, whatever the stream's frames are.
void SipLogWriter::cut(ByteSpan samples, int64_t time_us) {
    const auto held_us = static_cast<int64_t>(rest_.size() * kMicrosPerMilli / kG711BytesPerMs);
    const int64_t gap_us = time_us - (rest_us_ + held_us);
    if (rest_.empty() || std::abs(gap_us) > kMaxGapMs * kMicrosPerMilli) {
        rest_.clear();
        rest_us_ = time_us;
    }
    rest_.insert(rest_.end(), samples.begin(), samples.end());
    size_t done = 0;
    for (; rest_.size() - done >= kG711Frame; done += kG711Frame) {
        const auto sample =
            static_cast<uint32_t>(rest_us_ * int64_t{kG711BytesPerMs} / kMicrosPerMilli);
        write_audio(ByteSpan(rest_).subspan(done, kG711Frame), sample, rest_us_ / kMicrosPerMilli);
        rest_us_ += kFrameMs * kMicrosPerMilli;
    }
    rest_.erase(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(done));
}

void SipLogWriter::write_audio(ByteSpan payload, uint32_t rtp_time, int64_t time_ms) {
    stream::RtpLog::Frame frame;
    frame.track = net::kRtpAudioTrack;
    frame.start = audio_starts_;
    frame.time_ms = time_ms;
    frame.rtp_time = rtp_time;
    write(frame, payload);
}

}  // namespace weir::session
