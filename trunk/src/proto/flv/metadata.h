// onMetaData (Adobe FLV 10.1 annex E.5): what a publisher says of its stream. Hints only: nothing
// is decoded by them.
//
// Peers: amf
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/ref.h"
#include "media/description.h"
#include "media/packet.h"

namespace weir::flv {

// `body` is that of a script tag or data message. What is missing or no number stays as it was
// made; a broken body gives an empty description.
media::Description parse_metadata(ByteSpan body);

// The same way around, of a publisher that sends no onMetaData: its size, and what it says of its
// audio tracks (audioTrackIdInfoMap). By it players of Enhanced RTMP and other nodes know their
// languages and names.
Ref<media::MediaPacket> make_metadata(const media::Description& description, int64_t time_ms);

}  // namespace weir::flv
