// From the tracks of an RTSP description to what RtpIngest receives. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "media/description.h"
#include "net/rtp/rtp_ingest.h"
#include "proto/sdp/rtsp_track.h"

namespace weir::session {

// Indices of the tracks that are received: the first video and the first audio that can be. Those
// in the other direction (a loudspeaker of the camera) only where there is no other. kUnsupported
// says why there is none.
Result<std::vector<size_t>> choose_rtsp_tracks(const sdp::RtspDescription& description);

// Video and audio that cannot be received, and why, for people; empty: there are none. Untrusted.
std::string unused_rtsp_tracks(const sdp::RtspDescription& description);

// What a stream of these tracks is told of them before they come.
media::Description describe_rtsp_tracks(const std::vector<net::RtpIngestTrack>& tracks);

// `track`: that was chosen.
net::RtpIngestTrack rtsp_ingest_track(const sdp::RtspTrack& track);

}  // namespace weir::session
