#include "session/rtsp/rtsp_profile.h"

#include <functional>

#include "base/bytes.h"
#include "proto/sdp/rtsp_writer.h"

namespace weir::session {

using media::Codec;

const net::RtpProfile kRtspProfile = {
    .audience = media::Audience::kOriginal,
    .max_payload_bytes = kMaxRtspPayload,
    .takes = [](Codec codec) { return rtsp_payload_type_of(codec).has_value(); },
};

std::optional<uint8_t> rtsp_payload_type_of(Codec codec) {
    if (const std::optional<uint8_t> fixed = sdp::rtsp_payload_type(codec)) {
        return fixed;
    }
    switch (codec) {
        case Codec::kH264: return uint8_t{96};
        case Codec::kAac: return uint8_t{97};
        case Codec::kHevc: return uint8_t{98};
        case Codec::kAv1: return uint8_t{99};
        case Codec::kVp8: return uint8_t{100};
        case Codec::kVp9: return uint8_t{101};
        case Codec::kOpus: return uint8_t{102};
        default: return std::nullopt;
    }
}

size_t rtsp_terms(Codec codec, ByteSpan config) {
    if (codec == Codec::kUnknown || (codec == Codec::kAac && config.empty())) {
        return 0;
    }
    const std::string_view told = codec == Codec::kAac ? as_text(config) : std::string_view();
    return std::hash<std::string_view>()(told) * 31 + static_cast<size_t>(codec) + 1;
}

RtspTerms rtsp_terms(const net::RtpCutter& cutter) {
    RtspTerms terms{};
    for (const uint8_t track : {net::kRtpAudioTrack, net::kRtpVideoTrack}) {
        terms[track] = rtsp_terms(cutter.track(track).codec.codec, cutter.config(track));
    }
    return terms;
}

bool still_holds(const RtspTerms& told, const RtspTerms& now) {
    for (size_t track = 0; track < told.size(); track++) {
        if (told[track] != 0 && now[track] != 0 && told[track] != now[track]) {
            return false;
        }
    }
    return true;
}

std::string_view control_of(uint8_t track) {
    return track == net::kRtpVideoTrack ? "trackID=0" : "trackID=1";
}

TrackUrlView split_track_url(std::string_view url) {
    for (const uint8_t track : {net::kRtpVideoTrack, net::kRtpAudioTrack}) {
        const std::string_view control = control_of(track);
        if (url.ends_with(control)) {
            url.remove_suffix(control.size());
            if (url.ends_with('/')) {
                url.remove_suffix(1);
            }
            return {track, url};
        }
    }
    return {std::nullopt, url};
}

}  // namespace weir::session
