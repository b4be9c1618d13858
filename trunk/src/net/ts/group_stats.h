// What there is to say of a group that is received, for the API and the log.
#pragma once

#include <cstdint>

namespace weir::net {

struct GroupStats {
    uint64_t datagrams = 0;
    uint64_t unicast = 0;  // packets of a fast channel change, before the group's
    uint64_t bytes = 0;
    uint64_t kernel_drops = 0;  // came, and the receive buffer was full
    uint64_t strangers = 0;     // of others than the source of the address
    uint64_t foreign = 0;       // of no transport stream
    uint64_t lost = 0;          // RTP packets that did not come, or too late
    uint64_t reordered = 0;
    uint64_t late = 0;
    uint64_t duplicates = 0;
    uint64_t restarts = 0;
    uint64_t parities = 0;   // packets of FEC that came
    uint64_t recovered = 0;  // of the lost, by FEC; they are not among `lost`
    uint64_t continuity_errors = 0;
    uint64_t frames = 0;  // that were taken out of it
    uint64_t dropped_frames = 0;
    uint64_t receive_buffer = 0;  // bytes, as the kernel gave them

    bool operator==(const GroupStats&) const = default;
};

}  // namespace weir::net
