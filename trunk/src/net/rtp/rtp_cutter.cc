#include "net/rtp/rtp_cutter.h"

#include <algorithm>

#include "base/check.h"
#include "media/aac.h"
#include "media/avc.h"
#include "media/hevc.h"
#include "media/opus.h"
#include "proto/rtp/payload_audio.h"

namespace weir::net {
namespace {

using media::Codec;
using media::TrackKind;

constexpr uint32_t kVideoClockHz = 90'000;

uint32_t clock_of(Codec codec) {
    switch (codec) {
        case Codec::kOpus: return media::opus::kClockHz;
        case Codec::kG711A:
        case Codec::kG711U:
        case Codec::kG722: return 8'000;
        case Codec::kSpeex: return 16'000;  // what Speex in FLV is
        default: return kVideoClockHz;
    }
}

}  // namespace

RtpCutter::RtpCutter(const RtpProfile& profile) : profile_(profile) {
    WEIR_CHECK(profile.video_layers >= 1 && kRtpVideoTrack + profile.video_layers <= kTracks);
    WEIR_CHECK(profile.b_frames == RtpProfile::BFrames::kSend || profile.b_frame_refusal);
}

// Of a stream without simulcast, and of the layer that everybody gets, the track id is 0.
bool RtpCutter::is_video_track(const media::PacketInfo& info) const {
    return info.track_id == 0 || (profile_.video_layers > 1 && info.audience == profile_.audience);
}

uint8_t RtpCutter::layer_of(const media::PacketInfo& info) const {
    return static_cast<uint8_t>(std::min<size_t>(info.layer, profile_.video_layers - 1));
}

bool RtpCutter::use_codec(uint8_t index, Codec codec) {
    RtpTrack& track = tracks_[index];
    if (track.codec.codec == codec && packetizers_[index]) {
        return true;
    }
    configs_[index].clear();
    edition_++;
    if (index >= kRtpVideoTrack) {
        refusal_ = {};
    } else {
        audio_end_.reset();
    }
    track = {};
    track.codec.codec = codec;
    track.clock_hz = clock_of(codec);
    packetizers_[index] = rtp::make_packetizer(codec);
    return packetizers_[index] != nullptr;
}

bool RtpCutter::take_codec(uint8_t index, Codec codec) {
    return profile_.takes(codec) && use_codec(index, codec);
}

void RtpCutter::take_video_config(const media::MediaPacket& packet) {
    const Codec codec = packet.info().codec;
    const uint8_t layer = layer_of(packet.info());
    const auto index = static_cast<uint8_t>(kRtpVideoTrack + layer);
    if (!take_codec(index, codec)) {
        return;
    }
    Bytes& in_force = configs_[index];
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

// RFC 3640: the clock of AAC is its sample rate, which only the configuration says.
void RtpCutter::take_audio_config(const media::MediaPacket& packet) {
    const Codec codec = packet.info().codec;
    if (take_codec(kRtpAudioTrack, codec)) {
        if (!std::ranges::equal(packet.payload(), configs_[kRtpAudioTrack])) {
            edition_++;
        }
        configs_[kRtpAudioTrack].assign(packet.payload().begin(), packet.payload().end());
        if (codec == Codec::kAac) {
            const auto config = media::aac::parse_config(packet.payload());
            tracks_[kRtpAudioTrack].clock_hz = config ? config->sample_rate : kVideoClockHz;
            tracks_[kRtpAudioTrack].codec.channels =
                config && config->channels != 0 ? config->channels : uint8_t{2};
        }
    }
    on_audio_config(packet);
}

void RtpCutter::cut(const media::PacketRef& packet, const stream::Configs* start) {
    const media::PacketInfo& info = packet->info();
    if (start) {
        on_start();
        for (const media::PacketRef& config : *start) {
            const media::PacketInfo& of = config->info();
            if (of.config && of.kind == TrackKind::kVideo && is_video_track(of)) {
                take_video_config(*config);
            } else if (of.config && of.kind == TrackKind::kAudio && of.track_id == 0) {
                take_audio_config(*config);
            }
        }
    }
    if (info.end || info.metadata) {
        return;
    }
    if (info.kind == TrackKind::kVideo && is_video_track(info)) {
        if (info.config) {
            take_video_config(*packet);
        } else {
            on_video(*packet, start != nullptr);
        }
    } else if (info.kind == TrackKind::kAudio && info.track_id == 0) {
        if (info.config) {
            take_audio_config(*packet);
        } else {
            on_audio(packet, start != nullptr);
        }
    }
}

// Whether a frame is shown before one that came earlier. HEVC does not say so in a slice's type.
bool RtpCutter::is_behind(const media::MediaPacket& packet) {
    const int64_t shown_ms = packet.time_ms() + packet.info().composition_ms;
    if (packet.info().key || shown_ms >= highest_shown_ms_) {
        highest_shown_ms_ = shown_ms;
        return false;
    }
    return true;
}

// Of H.264 and HEVC: whether it is a B-frame that the profile leaves out, and whether nothing
// refers to it.
bool RtpCutter::leave_out(const media::MediaPacket& packet, bool& discardable) {
    bool b_frame = false;
    if (packet.info().codec == Codec::kH264) {
        const media::avc::FrameInfo frame =
            media::avc::inspect_frame(packet.payload(), length_size_);
        discardable = !frame.referenced;
        b_frame = frame.bidirectional;
    } else if (packet.info().codec == Codec::kHevc) {
        discardable = !media::hevc::inspect_frame(packet.payload(), length_size_).referenced;
        b_frame = is_behind(packet);  // a leading or bidirectional picture
    }
    if (!b_frame || profile_.b_frames == RtpProfile::BFrames::kSend) {
        return false;
    }
    if (!discardable) {
        refusal_ = profile_.b_frame_refusal(packet.info().codec);
    }
    return true;
}

void RtpCutter::on_video(const media::MediaPacket& packet, bool start) {
    const uint8_t layer = layer_of(packet.info());
    const auto index = static_cast<uint8_t>(kRtpVideoTrack + layer);
    if (!take_codec(index, packet.info().codec)) {
        return;
    }
    bool discardable = false;
    if (leave_out(packet, discardable)) {
        skipped_++;
        return;
    }
    on_video_frame(layer, packet);
    write_packet(index, packet, start, discardable);
}

void RtpCutter::on_audio(const media::PacketRef& packet, bool start) {
    if (take_codec(kRtpAudioTrack, packet->info().codec)) {
        write_packet(kRtpAudioTrack, *packet, start, false);
    }
}

void RtpCutter::write_packet(uint8_t index,
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
    write(frame, packet.payload());
}

// RFC 3551 §4.1: whether it is the first of the audio after silence.
bool RtpCutter::begins_talkspurt(const stream::RtpLog::Frame& frame, ByteSpan payload) {
    const RtpTrack& track = tracks_[frame.track];
    const auto gap = static_cast<int32_t>(frame.rtp_time - audio_end_.value_or(0));
    const bool begins = !audio_end_ || int64_t{gap} * 1000 > kSilenceMs * track.clock_hz;
    audio_end_ = frame.rtp_time + rtp::audio_ticks(track.codec.codec, track.clock_hz, payload);
    return begins;
}

// The marker of AAC ends a frame (RFC 3640 §3.1), as that of video does.
void RtpCutter::write(stream::RtpLog::Frame frame, ByteSpan payload) {
    const bool ends_frame =
        frame.track != kRtpAudioTrack || tracks_[frame.track].codec.codec == Codec::kAac;
    marker_ = ends_frame || begins_talkspurt(frame, payload);
    frame.marker = marker_;
    begin_frame(frame);
    if (!packetizers_[frame.track]->packetize(payload, profile_.max_payload_bytes, *this)) {
        skipped_++;
    }
    end_frame();
}

void RtpCutter::on_payload(std::span<const ByteSpan> parts, bool last) {
    if (parts.size() <= 2) {
        add_payload(parts.size() == 2 ? parts[0] : ByteSpan(), parts.back(), last && marker_);
        return;
    }
    joined_.clear();
    for (const ByteSpan part : parts) {
        joined_.insert(joined_.end(), part.begin(), part.end());
    }
    add_payload({}, joined_, last && marker_);
}

}  // namespace weir::net
