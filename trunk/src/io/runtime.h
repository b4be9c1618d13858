// Starts State Threads as the scheduler: clock, event system, switch callbacks, reactor. Once per
// process.
//
// io/ is the only place that includes st.h; nothing here shows its types.
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"
#include "base/error.h"

namespace weir::io {

// Must be called first, from the thread that will be the media thread; the caller becomes a
// coroutine. Raises the descriptor limit (soft to hard), ignores SIGPIPE, names the coroutine when
// a stack overflows. A second call fails with kInternal.
Error init_runtime();

struct RuntimeStats {
    uint64_t coroutines_live = 0;  // spawned and not ended; main and the reactor are not counted
    uint64_t coroutines_created = 0;
    uint64_t stacks = 0;          // stacks ever mapped (libst keeps them for reuse)
    uint64_t stack_bytes = 0;     // address space of those
    uint64_t stacks_dropped = 0;  // times that the memory of an ended stack was given back
    uint64_t reactor_loops = 0;
    uint64_t reactor_events = 0;
    uint64_t stale_events = 0;  // events of an already closed descriptor that were dropped
    uint64_t registered = 0;    // descriptors in the reactor
};

RuntimeStats runtime_stats();

// How long the media thread runs before it looks for events again: for so long everybody waits.
struct TurnStats {
    static constexpr std::array<int64_t, 9> kBoundsUs{500,    1'000,  2'000,   5'000,  10'000,
                                                      20'000, 50'000, 100'000, 500'000};

    std::array<uint64_t, kBoundsUs.size() + 1> counts{};  // the last: beyond all bounds
    uint64_t busy_us = 0;                                 // of all turns
    Micros longest{0};                                    // of the last half minute to minute
};

TurnStats turn_stats();

// Share of the last ~100 ms (a moving average) that the media thread spent outside epoll, 0.0
// to 1.0.
double busy_share();

}  // namespace weir::io
