#include "session/webrtc/rtp_muxer.h"

#include <algorithm>

#include "media/av1.h"
#include "media/avc.h"
#include "media/hevc.h"
#include "media/opus.h"
#include "session/webrtc/rtc_playable.h"

namespace weir::session {
namespace {

using media::Codec;
using media::TrackKind;

constexpr uint32_t kVideoClockHz = 90'000;
constexpr int64_t kOpusClockHz = media::opus::kClockHz;

uint32_t clock_of(Codec codec) {
    switch (codec) {
        case Codec::kOpus: return media::opus::kClockHz;
        case Codec::kG711A:
        case Codec::kG711U: return 8'000;
        default: return kVideoClockHz;
    }
}

uint8_t layer_of(const media::PacketInfo& info) {
    return static_cast<uint8_t>(std::min<size_t>(info.layer, kMaxLayers - 1));
}

}  // namespace

bool RtpMuxer::use_codec(uint8_t index, Codec codec) {
    RtpTrack& track = tracks_[index];
    if (track.codec.codec == codec && packetizers_[index]) {
        return true;
    }
    if (index >= kRtpVideoTrack) {
        video_configs_[index - kRtpVideoTrack].clear();
        refusal_ = {};
    }
    track = {};
    track.codec.codec = codec;
    track.clock_hz = clock_of(codec);
    packetizers_[index] = rtp::make_packetizer(codec);
    return packetizers_[index] != nullptr;
}

void RtpMuxer::take_video_config(const media::MediaPacket& packet) {
    const Codec codec = packet.info().codec;
    const uint8_t layer = layer_of(packet.info());
    const auto index = static_cast<uint8_t>(kRtpVideoTrack + layer);
    if (!is_rtp_video(codec) || !use_codec(index, codec)) {
        return;
    }
    Bytes& in_force = video_configs_[layer];
    if (!std::ranges::equal(packet.payload(), in_force)) {  // each start has it
        in_force.assign(packet.payload().begin(), packet.payload().end());
        refusal_ = {};
        packetizers_[index]->set_config(packet.payload());
        if (codec == Codec::kHevc) {
            const auto config = media::hevc::ConfigView::parse(packet.payload());
            length_size_ = config ? config->length_size() : length_size_;
        } else if (codec == Codec::kH264) {
            if (const auto config = media::avc::ConfigView::parse(packet.payload())) {
                length_size_ = config->length_size();
                tracks_[index].codec.h264_profile_level_id =
                    static_cast<uint32_t>(config->profile()) << 16U |
                    static_cast<uint32_t>(config->compatibility()) << 8U | config->level();
            }
        }
    }
    if (layer != 0 && packet.info().track_id == 0) {
        tracks_[kRtpVideoTrack] = tracks_[index];  // what everybody gets
    }
}

// At each start: it may have another publisher by now.
void RtpMuxer::look_at_layers() {
    if (stream_ == nullptr) {
        return;
    }
    const std::vector<media::Layer>& named = stream_->description().layers;
    if (named.size() != layers_.count() && !(named.size() <= 1 && !layers_.layered())) {
        layers_ = {};
        layers_.configure(named.size());
    }
}

void RtpMuxer::on_packet(const media::PacketRef& packet, const stream::Configs* start) {
    const media::PacketInfo& info = packet->info();
    const bool layer = info.audience == media::Audience::kWebRtc && info.track_id != 0;
    if (start) {
        look_at_layers();
        for (const media::PacketRef& config : *start) {
            const media::PacketInfo& of = config->info();
            const bool mine = of.track_id == 0 || of.audience == media::Audience::kWebRtc;
            if (of.config && mine && of.kind == TrackKind::kVideo) {
                take_video_config(*config);
            } else if (of.config && of.track_id == 0 && of.kind == TrackKind::kAudio) {
                take_audio_config(*config);
            }
        }
    }
    if (info.end || info.metadata || info.kind == TrackKind::kData ||
        (info.track_id != 0 && !layer)) {
        return;
    }
    if (info.kind == TrackKind::kVideo) {
        if (info.config) {
            take_video_config(*packet);
        } else {
            on_video(*packet, start != nullptr);
        }
    } else if (info.config) {
        take_audio_config(*packet);
    } else {
        on_audio(packet, start != nullptr);
    }
}

// Whether a frame is shown before one that came earlier. HEVC does not say so in a slice's type.
bool RtpMuxer::is_behind(const media::MediaPacket& packet) {
    const int64_t shown_ms = packet.time_ms() + packet.info().composition_ms;
    if (packet.info().key || shown_ms >= highest_shown_ms_) {
        highest_shown_ms_ = shown_ms;
        return false;
    }
    return true;
}

void RtpMuxer::on_video(const media::MediaPacket& packet, bool start) {
    const uint8_t layer = layer_of(packet.info());
    const auto index = static_cast<uint8_t>(kRtpVideoTrack + layer);
    if (!is_rtp_video(packet.info().codec) || !use_codec(index, packet.info().codec)) {
        return;
    }
    bool discardable = false;
    if (packet.info().codec == Codec::kH264) {
        const media::avc::FrameInfo frame =
            media::avc::inspect_frame(packet.payload(), length_size_);
        if (frame.is_reference_b()) {
            refusal_ = b_frame_refusal(packet.info().codec);
        }
        if (frame.bidirectional) {
            skipped_++;
            return;
        }
        discardable = !frame.referenced;
    } else if (packet.info().codec == Codec::kHevc) {
        const media::hevc::FrameInfo frame =
            media::hevc::inspect_frame(packet.payload(), length_size_);
        if (is_behind(packet)) {
            // A leading or bidirectional picture: to be shown before one that was decoded already.
            if (frame.referenced) {
                refusal_ = b_frame_refusal(packet.info().codec);
            }
            skipped_++;
            return;
        }
        discardable = !frame.referenced;
    }
    if (packet.info().key && stream_ != nullptr && layers_.layered() &&
        layer < stream_->description().layers.size()) {
        const media::Layer& of = stream_->description().layers[layer];
        layers_.set_pixels(layer, uint64_t{of.width} * of.height);
    }
    layers_.on_frame(layer, packet.payload().size(), packet.time_ms());
    write(index, packet, start, discardable);
}

// Sound in a codec that browsers do not take goes through a bridge, which begins here.
void RtpMuxer::take_audio_config(const media::MediaPacket& packet) {
    if (workers_ == nullptr || !is_bridged_audio(packet.info().codec) ||
        (bridge_ && std::ranges::equal(packet.payload(), bridged_config_))) {
        return;
    }
    bridged_config_.assign(packet.payload().begin(), packet.payload().end());
    transcode::AudioOptions options;
    options.from = packet.info().codec;
    options.from_config = bridged_config_;
    options.bits_per_second = opus_bps_;
    bridge_ = std::make_unique<AudioBridge>(
        *workers_, options, name_,
        [this](ByteSpan frame, int64_t time_us) { on_opus(frame, time_us); });
    use_codec(kRtpAudioTrack, Codec::kOpus);
}

void RtpMuxer::on_audio(const media::PacketRef& packet, bool start) {
    const Codec codec = packet->info().codec;
    audio_starts_ = start;
    if (is_rtp_audio(codec)) {
        bridge_.reset();
        if (use_codec(kRtpAudioTrack, codec)) {
            write(kRtpAudioTrack, *packet, start, false);
        }
        return;
    }
    if (codec == Codec::kMp3 && !bridge_) {
        take_audio_config(media::MediaPacket(packet->info(), packet->time_ms(), {}));
    }
    if (bridge_) {
        bridge_->push(packet);
    }
}

void RtpMuxer::on_opus(ByteSpan bytes, int64_t time_us) {
    stream::RtpLog::Frame frame;
    frame.track = kRtpAudioTrack;
    frame.start = audio_starts_;
    frame.time_ms = time_us / 1000;
    frame.rtp_time = static_cast<uint32_t>(time_us * (kOpusClockHz / 1000) / 1000);
    log_.begin_frame(frame);
    if (!packetizers_[kRtpAudioTrack]->packetize(bytes, kMaxRtpPayload, *this)) {
        skipped_++;
    }
    log_.end_frame();
}

void RtpMuxer::write(uint8_t index,
                     const media::MediaPacket& packet,
                     bool start,
                     bool discardable) {
    const int64_t shown_ms = packet.time_ms() + packet.info().composition_ms;
    stream::RtpLog::Frame frame;
    frame.track = index;
    frame.start = start;
    frame.key = packet.info().key;
    frame.discardable = discardable;
    frame.time_ms = packet.time_ms();
    frame.rtp_time = static_cast<uint32_t>(shown_ms * tracks_[index].clock_hz / 1000);
    log_.begin_frame(frame);
    if (!packetizers_[index]->packetize(packet.payload(), kMaxRtpPayload, *this)) {
        skipped_++;
    }
    log_.end_frame();
}

void RtpMuxer::on_payload(std::span<const ByteSpan> parts, bool) {
    if (parts.size() <= 2) {
        log_.add_packet(parts.size() == 2 ? parts[0] : ByteSpan(), parts.back());
        return;
    }
    joined_.clear();
    for (const ByteSpan part : parts) {
        joined_.insert(joined_.end(), part.begin(), part.end());
    }
    log_.add_packet({}, joined_);
}

}  // namespace weir::session
