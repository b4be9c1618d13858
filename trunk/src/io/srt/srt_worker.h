// The body of the engine's thread: all calls of libsrt. Private to io/srt/.
#pragma once

#include "io/srt/srt_bridge.h"

namespace weir::io {

// False: built with --srt=off.
bool srt_worker_built();

// Loads libsrt, says so, and serves commands until the bridge is stopped. Ends all connections.
void run_srt_worker(SrtBridge& bridge);

}  // namespace weir::io
