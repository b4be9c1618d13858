// PumpStats: counters over all pumps, for /metrics.
#pragma once

#include <cstdint>

namespace weir::net {

struct PumpStats {
    uint64_t writes = 0;
    uint64_t file_writes = 0;  // of them without a copy
    uint64_t written_bytes = 0;
    uint64_t would_block = 0;
    uint64_t resyncs = 0;
    uint64_t dropped_bytes = 0;  // by that
    uint64_t dropped_frames = 0;
    uint64_t blocked = 0;  // players that had to wait for their socket
    uint64_t stalled = 0;  // players closed because they took nothing
    uint64_t passes = 0;
};

}  // namespace weir::net
