// The header of a file with several audio tracks for players that take one only: those that give
// fragments to a browser's media source are refused, as it wants one of each kind (hls.js 1.7 in
// Chromium 14x). Pure.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace weir::mp4 {

// `header`: ftyp and moov. The same, as long as it is, with every audio track but the first one as
// a track of metadata (§8.4.3), which players leave alone with its samples. Nothing: it has no more
// than one audio track.
std::optional<Bytes> one_audio_header(ByteSpan header);

}  // namespace weir::mp4
