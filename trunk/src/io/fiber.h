// Tells AddressSanitizer which stack runs (nothing in other builds).
//
// libst's switch-out callback does not know which thread comes next, and its idle thread runs
// without callbacks. So "leaving" announces a switch to nowhere, and "entering" finishes that and
// sets the true bounds by a second, immediate switch.
#pragma once

#include <cstddef>

#include "base/build.h"

#if WEIR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define WEIR_NO_ASAN __attribute__((no_sanitize_address))
#else
#define WEIR_NO_ASAN
#endif

namespace weir::io {

struct Fiber {
    const void* bottom = nullptr;
    size_t size = 0;
    void* fake_stack =
        nullptr;  // that of detect_stack_use_after_return while the coroutine does not run
};

#if WEIR_ASAN

// One flag for the process: a switch was announced and not yet finished.
inline bool& fiber_switch_pending() {
    static bool pending = false;
    return pending;
}

WEIR_NO_ASAN inline void fiber_leave(Fiber& self) {
    if (!fiber_switch_pending()) {
        __sanitizer_start_switch_fiber(&self.fake_stack, self.bottom, self.size);
        fiber_switch_pending() = true;
    }
}

// For good: the fake stack is freed.
WEIR_NO_ASAN inline void fiber_end(Fiber& self) {
    if (!fiber_switch_pending()) {
        __sanitizer_start_switch_fiber(nullptr, self.bottom, self.size);
        fiber_switch_pending() = true;
    }
}

WEIR_NO_ASAN inline void fiber_enter(Fiber& self) {
    if (fiber_switch_pending()) {
        __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
        fiber_switch_pending() = false;
    }
    void* none = nullptr;
    __sanitizer_start_switch_fiber(&none, self.bottom, self.size);
    __sanitizer_finish_switch_fiber(self.fake_stack, nullptr, nullptr);
    self.fake_stack = nullptr;
}

#else

inline void fiber_leave(Fiber&) {}

inline void fiber_end(Fiber&) {}

inline void fiber_enter(Fiber&) {}

#endif

}  // namespace weir::io
