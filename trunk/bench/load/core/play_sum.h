// What all players of a group, or of a run, received together: sums over their checks.
#pragma once

#include <cstdint>

#include "bench/load/core/player_check.h"

namespace weir::load {

struct PlaySum {
    PlayerCounts counts;  // sums; longest_gap_ns is the greatest
    uint64_t lost = 0;
    uint64_t duplicated = 0;
    uint64_t reordered = 0;
    uint64_t without_key = 0;  // players that did not begin with a key frame
    uint64_t republished = 0;  // changes of the publishing session
    uint64_t timed = 0;        // players whose delays count

    // With the gap that is open now.
    void add(const PlayerCheck& check, uint64_t now_ns);
    void add(const PlaySum& other);

    // Frames or times that are not as they were sent, other than lost ones.
    uint64_t wrong() const {
        return counts.corrupted + duplicated + reordered + counts.time_steps_back;
    }
};

}  // namespace weir::load
