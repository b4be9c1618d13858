#include "io/crash_stack.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ucontext.h>
#include <unwind.h>

#include "io/crash_report.h"
#include "io/fault_guard.h"
#include "io/scheduler.h"

namespace weir::io {
namespace {

constexpr size_t kMaxFrames = 64;
constexpr size_t kMaxWalk = 128;  // with the frames of the handler, or of a chain that is a circle

struct Walk {
    std::array<void*, kMaxFrames> frames{};
    size_t count = 0;
    size_t steps = 0;
    uint64_t from = 0;   // the frames above this address are the handler's
    bool begun = false;  // it was met

    void add(uint64_t address) { frames[count++] = reinterpret_cast<void*>(address); }
};

// Static: what was found stays when the walk is left in its middle.
Walk& walk() {
    static Walk instance;
    return instance;
}

struct Place {
    uint64_t instruction = 0;
    uint64_t stack = 0;
};

Place place_of(const ucontext_t& state) {
#if defined(__x86_64__)
    return {static_cast<uint64_t>(state.uc_mcontext.gregs[REG_RIP]),
            static_cast<uint64_t>(state.uc_mcontext.gregs[REG_RSP])};
#elif defined(__aarch64__)
    return {state.uc_mcontext.pc, state.uc_mcontext.sp};
#else
    (void)state;
    return {};
#endif
}

// As if the function that has crashed had returned: it has not moved the stack pointer. False when
// what would be the return address is in no program or library. Reads the stack.
bool step_out(ucontext_t& state) {
    uint64_t back = 0;
#if defined(__x86_64__)
    const Place place = place_of(state);
    std::memcpy(&back, reinterpret_cast<const void*>(place.stack), sizeof back);
    if (!is_known_code(back)) {
        return false;
    }
    state.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(back);
    state.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(place.stack + sizeof back);
#elif defined(__aarch64__)
    constexpr size_t kLinkRegister = 30;
    back = state.uc_mcontext.regs[kLinkRegister];
    if (!is_known_code(back)) {
        return false;
    }
    state.uc_mcontext.pc = back;
#endif
    return back != 0;
}

_Unwind_Reason_Code on_frame(_Unwind_Context* context, void*) {
    Walk& w = walk();
    int is_exact = 0;  // the address of the next instruction, and not behind a call
    const uint64_t at = _Unwind_GetIPInfo(context, &is_exact);
    if (++w.steps > kMaxWalk || w.count == w.frames.size()) {
        return _URC_END_OF_STACK;
    }
    if (!w.begun) {
        w.begun = at == w.from;
        return _URC_NO_REASON;
    }
    if (at == 0) {
        return _URC_END_OF_STACK;
    }
    const uint64_t within = is_exact != 0 ? at : at - 1;
    w.add(within);
    // What is above the first call of a coroutine was never a call: libst has put it there.
    const bool root =
        _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(within)) == coroutine_root();
    return root ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

std::span<void* const> crash_stack(void* context) {
    Walk& w = walk();
    w = {};
    auto& state = *static_cast<ucontext_t*>(context);
    const mcontext_t before = state.uc_mcontext;
    w.add(place_of(state).instruction);
    (void)run_guarded([&w, &state] {
        // A call of what is no function (nullptr, memory that was freed), or assembly without
        // unwind tables, as libst's switch is: its caller can be told.
        const uint64_t at = place_of(state).instruction;
        if (!is_known_code(at) ||
            _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(at)) == nullptr) {
            if (!step_out(state)) {
                return;
            }
            w.add(place_of(state).instruction - 1);
        }
        w.from = place_of(state).instruction;
        (void)_Unwind_Backtrace(&on_frame, nullptr);
    });
    state.uc_mcontext = before;
    return std::span(w.frames).first(w.count);
}

}  // namespace weir::io
