// Audio messages that have several tracks (Enhanced RTMP v2, AvMultitrackType ManyTracks and
// ManyTracksManyCodecs), taken apart: behind the entrance of a stream each packet is of one track.
//
// Pure; never yields.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "media/packet.h"

namespace weir::flv {

// Of a message of several audio tracks one body for each of them, in their order, as OneTrack has
// it; those behind the first media::Description::kMaxAudioTracks, and one that is cut off, are left
// out. Empty: it is of one track, or no audio. `info`: as parse_tag_body() read `body`.
std::vector<Bytes> split_audio_tracks(const media::PacketInfo& info, ByteSpan body);

}  // namespace weir::flv
