// From the tracks of an RTSP description to what RtpIngest receives. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "media/description.h"
#include "net/rtp/rtp_ingest.h"
#include "proto/sdp/rtsp_track.h"
#include "session/rtsp/rtsp_publish.h"

namespace weir::session {

// Indices of the tracks that are received: the first video and all audio that can be, at most
// media::Description::kMaxAudioTracks. Audio in the other direction (a loudspeaker of the camera)
// only where there is no other, and besides the first one only what can be one of several.
// kUnsupported says why there is none.
Result<std::vector<size_t>> choose_rtsp_tracks(const sdp::RtspDescription& description);

// Video and audio that cannot be received, and why, for people; empty: there are none. Untrusted.
std::string unused_rtsp_tracks(const sdp::RtspDescription& description);

// Indices of the tracks of an ANNOUNCE that are received, the same way: of those that `comes()`.
std::vector<size_t> choose_announced_tracks(const std::vector<RtspAnnounced>& tracks);

// `track`: that was chosen.
net::RtpIngestTrack rtsp_ingest_track(const sdp::RtspTrack& track);

// A track that was chosen, for those that follow.
struct RtspIncoming {
    net::RtpIngestTrack setup;
    std::string language = {};  // as of sdp::RtspTrack
    std::string name = {};
    bool comes = true;  // it is set up
};

RtspIncoming rtsp_incoming(const sdp::RtspTrack& track);

// Gives the audio tracks their numbers, first those that come. What a stream of these tracks is
// told of them before they come.
media::Description number_rtsp_tracks(std::vector<RtspIncoming>& tracks);

}  // namespace weir::session
