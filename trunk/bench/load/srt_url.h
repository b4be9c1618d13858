// srt://HOST[:PORT]/APP/STREAM?passphrase=...: what players and publishers by SRT say when they
// call.
#pragma once

#include "io/srt/srt_types.h"
#include "proto/srt/stream_id.h"

#include "bench/load/core/units.h"

namespace weir::load {

// Takes streamid, passphrase, latency (ms) and pbkeylen of the query; without a streamid it is made
// of the path.
io::SrtOptions srt_options_of(const Url& url, srt::StreamMode mode);

}  // namespace weir::load
