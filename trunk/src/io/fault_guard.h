// Private to io/: lets the report of a crash go on after a fault of its own.
//
// A crash may have left anything: a frame pointer that leads nowhere, a table half changed. Each
// step of the report that follows such pointers runs within run_guarded(); a fault in it ends that
// step only. The handler of faults calls leave_guarded().
//
// For one thread at a time, the one that reports; no nesting.
#pragma once

#include <csetjmp>

#include <signal.h>

namespace weir::io {

struct FaultGuard {
    sigjmp_buf back;
    volatile sig_atomic_t armed = 0;
};

inline FaultGuard& fault_guard() {
    static FaultGuard guard;
    return guard;
}

// Runs the step. False: it was left in its middle by leave_guarded(), and the destructors of its
// locals did not run. What it gives must lie outside of it, in memory that is not the caller's
// locals.
template <typename Step>
[[gnu::noinline]] bool run_guarded(Step step) {
    FaultGuard& guard = fault_guard();
    if (sigsetjmp(guard.back, 1) != 0) {
        return false;
    }
    guard.armed = 1;
    step();
    guard.armed = 0;
    return true;
}

// In the handler of a fault, on the thread that reports: back to run_guarded(). Returns when no
// step runs.
inline void leave_guarded() {
    FaultGuard& guard = fault_guard();
    if (guard.armed != 0) {
        guard.armed = 0;
        siglongjmp(guard.back, 1);
    }
}

}  // namespace weir::io
