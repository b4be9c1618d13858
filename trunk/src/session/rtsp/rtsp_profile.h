// How streams are played by RTSP: the RtpProfile, payload types and names of tracks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "media/codec.h"
#include "net/rtp/rtp_cutter.h"
#include "net/rtp/rtp_profile.h"

namespace weir::session {

// With IP, UDP and RTP headers a packet stays within 1,500 bytes, and 40 bytes of tunnels pass.
inline constexpr size_t kMaxRtspPayload = 1420;

extern const net::RtpProfile kRtspProfile;

// Payload type of a codec in descriptions and packets; none: it has no payload format here. A codec
// has one of its own, so that packets of another codec are not taken for the described one.
std::optional<uint8_t> rtsp_payload_type_of(media::Codec codec);

// What a description says of a track and its packets do not: its codec and, for AAC, the
// configuration (other codecs have theirs in the packets). A number that is another one when they
// are; 0: not known.
size_t rtsp_terms(media::Codec codec, ByteSpan config);

// By net::kRtpAudioTrack and net::kRtpVideoTrack.
using RtspTerms = std::array<size_t, 2>;

RtspTerms rtsp_terms(const net::RtpCutter& cutter);

// Whether a description that said `told` is still right. Tracks that are not known on both sides
// are not compared.
bool still_holds(const RtspTerms& told, const RtspTerms& now);

// "trackID=0" of the video and "trackID=1" of the audio, whether the other one exists or not.
std::string_view control_of(uint8_t track);

// Which track a URL names by its end ("rtsp://host/live/stream/trackID=1"), and the URL without
// that. None: it names no track.
struct TrackUrlView {
    std::optional<uint8_t> track;
    std::string_view base;
};

TrackUrlView split_track_url(std::string_view url);

}  // namespace weir::session
