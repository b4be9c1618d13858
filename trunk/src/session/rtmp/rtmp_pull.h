// Plays a stream of another RTMP server and publishes it here: `source rtmp://...`.
#pragma once

#include "net/source/source_run.h"

namespace weir::session {

class RtmpPull final : public net::SourceProtocol {
  public:
    // The origin's error when it refuses, kClosed when its stream or the connection ends, kTimeout
    // when it does not come up or falls silent.
    Error run(net::SourceRun& run) override;
};

}  // namespace weir::session
