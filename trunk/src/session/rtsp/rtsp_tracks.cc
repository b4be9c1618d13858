#include "session/rtsp/rtsp_tracks.h"

#include <utility>

#include "base/random.h"
#include "media/aac.h"
#include "proto/sdp/rtsp_writer.h"
#include "session/rtsp/rtsp_profile.h"

namespace weir::session {

using media::Codec;
using media::TrackKind;
using net::kRtpAudioTrack;
using net::kRtpVideoTrack;

namespace {

// Without it, decoders would have to wait for what packets bring along, or cannot begin at all.
bool needs_config(Codec codec) {
    return codec == Codec::kH264 || codec == Codec::kHevc || codec == Codec::kAac;
}

}  // namespace

RtspTracks::RtspTracks(stream::Stream& stream, MonoTime now)
    : stream_(&stream), began_(now), name_(stream.key().name) {
    stream_->attach(*this);
}

RtspTracks::RtspTracks(const net::VodSource& recording, std::string name)
    : name_(std::move(name)), duration_ms_(recording.grows() ? 0 : recording.duration_ms()) {
    take_codec(recording.codecs().video, kRtpVideoTrack);
    take_codec(recording.codecs().audio, kRtpAudioTrack);
    for (const media::PacketRef& config : recording.configs()) {
        take(*config);
    }
}

RtspTracks::~RtspTracks() {
    if (stream_ != nullptr) {
        stream_->detach(*this);
    }
}

// What needs no configuration; else that tells it.
void RtspTracks::take_codec(media::Codec codec, uint8_t index) {
    if (codec == Codec::kUnknown || needs_config(codec)) {
        return;
    }
    if (!rtsp_payload_type_of(codec)) {
        left_out_ = media::to_string(codec);
        return;
    }
    tracks_[index].codec = codec;
    tracks_[index].clock_hz = sdp::rtsp_clock(codec, {});
}

void RtspTracks::on_packet(const media::PacketRef& packet, const stream::Configs* start) {
    if (start != nullptr) {
        for (const media::PacketRef& config : *start) {
            take(*config);
        }
    }
    take(*packet);
}

void RtspTracks::take(const media::MediaPacket& packet) {
    const media::PacketInfo& info = packet.info();
    if (info.kind == TrackKind::kData || info.track_id != 0 || info.metadata || info.end) {
        return;
    }
    if (!rtsp_payload_type_of(info.codec)) {
        left_out_ = media::to_string(info.codec);
        return;
    }
    Track& track = tracks_[info.kind == TrackKind::kVideo ? kRtpVideoTrack : kRtpAudioTrack];
    if (track.codec != info.codec) {
        track = {};
    }
    if (!info.config) {
        if (!needs_config(info.codec)) {
            track.codec = info.codec;
        }
    } else {
        track.codec = info.codec;
        track.config.assign(packet.payload().begin(), packet.payload().end());
        if (const auto aac = media::aac::parse_config(track.config);
            aac && aac->channels != 0 && info.codec == Codec::kAac) {
            track.channels = aac->channels;
        }
    }
    if (info.codec == Codec::kG711A || info.codec == Codec::kG711U) {
        track.channels = 1;
    }
    track.clock_hz = sdp::rtsp_clock(info.codec, track.config);
}

bool RtspTracks::any() const {
    return has(kRtpVideoTrack) || has(kRtpAudioTrack);
}

RtspTerms RtspTracks::terms() const {
    RtspTerms terms{};
    for (const uint8_t index : {kRtpAudioTrack, kRtpVideoTrack}) {
        terms[index] = rtsp_terms(tracks_[index].codec, tracks_[index].config);
    }
    return terms;
}

// Codecs without a configuration are known by their frames alone (MP3, G.711).
bool RtspTracks::lacks_a_track() const {
    return left_out_.empty() && ((stream_->has_video() && !has(kRtpVideoTrack)) ||
                                 (stream_->has_audio() && !has(kRtpAudioTrack)));
}

bool RtspTracks::complete(MonoTime now) const {
    if (stream_ == nullptr || !stream_->live() || (!any() && left_out_.empty())) {
        return false;
    }
    if (has(kRtpVideoTrack) && has(kRtpAudioTrack)) {
        return true;
    }
    return now - stream_->live_since() >= kSettled &&
           (!lacks_a_track() || now - began_ >= kNextFrame);
}

std::string RtspTracks::describe(std::string_view address,
                                 const std::optional<RtspSrtpKey>& key) const {
    sdp::RtspOffer offer;
    offer.name = name_;
    offer.recorded = stream_ == nullptr;
    offer.duration_ms = duration_ms_;
    offer.address = address;
    offer.tool = "weir";
    offer.secure = key.has_value();
    for (const uint8_t index : {kRtpVideoTrack, kRtpAudioTrack}) {
        if (!has(index)) {
            continue;
        }
        const Track& track = tracks_[index];
        sdp::RtspTrackOffer& out = offer.tracks.emplace_back();
        out.codec = track.codec;
        out.payload_type = rtsp_payload_type_of(track.codec).value_or(sdp::kFirstDynamicType);
        out.clock_hz = track.clock_hz;
        out.channels = track.channels;
        out.config = track.config;
        out.control = control_of(index);
        if (key) {
            out.crypto.push_back(rtsp_crypto_line(*key));
            out.key_mgmt = rtsp_key_mgmt(*key, system_random());
        }
    }
    return sdp::write_rtsp_description(offer);
}

}  // namespace weir::session
