#include "session/webrtc/rtc_log_writer.h"

#include <algorithm>

#include "media/opus.h"
#include "session/webrtc/rtc_playable.h"

namespace weir::session {
namespace {

using media::Codec;

constexpr int64_t kOpusClockHz = media::opus::kClockHz;

}  // namespace

constinit const net::RtpProfile kRtcProfile = {
    .audience = media::Audience::kWebRtc,
    .max_payload_bytes = kMaxRtcPayload,
    .b_frames = net::RtpProfile::BFrames::kLeaveOut,
    .takes = [](Codec codec) { return is_rtp_video(codec) || is_rtp_audio(codec); },
    .b_frame_refusal = b_frame_refusal,
    .video_layers = kMaxLayers,
};

void RtcLogWriter::on_packet(const media::PacketRef& packet, const stream::Configs* start) {
    const MonoTime now = MonoClock::now();
    if (stream_ == nullptr || late_audio_.push(now, packet, start)) {
        RtpLogWriter::on_packet(packet, start);
    } else if (write_due(now) != MonoTime::max()) {
        log().wake_listener();  // the pump asks when it is due
    }
}

void RtcLogWriter::write_held() {
    const net::LateAudio::Held held = late_audio_.pop();
    RtpLogWriter::on_packet(held.packet, held.start ? &*held.start : nullptr);
}

// Returns when more is due.
MonoTime RtcLogWriter::write_due(MonoTime now) {
    MonoTime due = late_audio_.next_due(now);
    for (; due <= now; due = late_audio_.next_due(now)) {
        write_held();
    }
    return due;
}

MonoTime RtcLogWriter::release(MonoTime now) {
    late_audio_.release();
    return write_due(now);
}

// Nobody may begin at what came before, so it goes before.
void RtcLogWriter::on_start_lost(stream::StartLost why) {
    while (late_audio_.holds()) {
        write_held();
    }
    if (why == stream::StartLost::kPublisherGone) {
        late_audio_.restart();
    }
    RtpLogWriter::on_start_lost(why);
}

// At each start: it may have another publisher by now.
void RtcLogWriter::on_start() {
    if (stream_ == nullptr) {
        return;
    }
    const std::vector<media::Layer>& named = stream_->description().layers;
    if (named.size() != layers_.count() && !(named.size() <= 1 && !layers_.layered())) {
        layers_ = {};
        layers_.configure(named.size());
    }
}

void RtcLogWriter::on_video_frame(uint8_t layer, const media::MediaPacket& packet) {
    if (packet.info().key && stream_ != nullptr && layers_.layered() &&
        layer < stream_->description().layers.size()) {
        const media::Layer& of = stream_->description().layers[layer];
        layers_.set_pixels(layer, uint64_t{of.width} * of.height);
    }
    layers_.on_frame(layer, packet.payload().size(), packet.time_ms());
}

// Audio in a codec that browsers do not take goes through a bridge, which begins here.
void RtcLogWriter::on_audio_config(const media::MediaPacket& packet) {
    if (workers_ == nullptr || !is_bridged_audio(packet.info().codec) ||
        (bridge_ && std::ranges::equal(packet.payload(), bridged_config_))) {
        return;
    }
    bridged_config_.assign(packet.payload().begin(), packet.payload().end());
    transcode::AudioOptions options;
    options.from = packet.info().codec;
    options.from_config = bridged_config_;
    options.bits_per_second = opus_bps_;
    bridge_ = std::make_unique<net::AudioBridge>(
        *workers_, options, name_,
        [this](ByteSpan frame, int64_t time_us) { on_opus(frame, time_us); });
    use_codec(kRtpAudioTrack, Codec::kOpus);
}

void RtcLogWriter::on_audio(const media::PacketRef& packet, bool start) {
    const Codec codec = packet->info().codec;
    audio_starts_ = start;
    if (is_rtp_audio(codec)) {
        bridge_.reset();
        RtpLogWriter::on_audio(packet, start);
        return;
    }
    if (codec == Codec::kMp3 && !bridge_) {
        on_audio_config(media::MediaPacket(packet->info(), packet->time_ms(), {}));
    }
    if (bridge_) {
        log().note_coming(kRtpAudioTrack, packet->time_ms());
        bridge_->push(packet);
    }
}

void RtcLogWriter::on_opus(ByteSpan bytes, int64_t time_us) {
    stream::RtpLog::Frame frame;
    frame.track = kRtpAudioTrack;
    frame.start = audio_starts_;
    frame.time_ms = time_us / 1000;
    frame.rtp_time = static_cast<uint32_t>(time_us * (kOpusClockHz / 1000) / 1000);
    write(frame, bytes);
}

}  // namespace weir::session
