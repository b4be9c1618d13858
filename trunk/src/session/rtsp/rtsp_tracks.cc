#include "session/rtsp/rtsp_tracks.h"

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

RtspTracks::RtspTracks(stream::Stream& stream) : stream_(stream) {
    stream_.attach(*this);
}

RtspTracks::~RtspTracks() {
    stream_.detach(*this);
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

bool RtspTracks::complete(MonoTime now) const {
    const bool both = has(kRtpVideoTrack) && has(kRtpAudioTrack);
    return stream_.live() && (both || now - stream_.live_since() >= kSettled) &&
           (any() || !left_out_.empty());
}

std::string RtspTracks::describe(std::string_view address,
                                 const std::optional<RtspSrtpKey>& key) const {
    sdp::RtspOffer offer;
    offer.name = stream_.key().name;
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
