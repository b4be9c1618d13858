// Payload formats in RTSP descriptions: what a=rtpmap and a=fmtp say of a codec's configuration.
// Parameters of RFC 6184 §8 (H.264), RFC 7798 §7 (HEVC), RFC 3640 §4.1 (AAC), RFC
// 6416 §7 (LATM), RFC 7587 §6 (Opus).
//
// Peers: rtp
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/sdp/attributes.h"
#include "proto/sdp/rtsp_track.h"

namespace weir::sdp {

// Fills what the track's format says: codec, clock, channels, configuration, parameters, or why it
// is not supported. kind must be set.
void read_rtsp_format(const RtpMap& map, std::string_view fmtp, RtspTrack& track);

// Static payload types (RFC 3551 §6) of codecs that are known here: PCMU, PCMA, MPA, MP2T.
std::optional<RtpMap> rtsp_static_type(uint8_t payload_type);

}  // namespace weir::sdp
