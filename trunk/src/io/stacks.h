// Every stack that libst maps, also that of its idle thread: guard pages, leak-check roots, memory
// given back.
//
// libst maps stacks with mmap and never unmaps them; the linker's --wrap=mmap shows us each one
// before its first use. Ended stacks wait in libst's own free list, which hands out the one that
// ended longest ago. Media thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::io {

struct Stack {
    char* bottom = nullptr;  // lowest usable address; the guard page is below
    size_t size = 0;
    const char* owner = "";  // name of the coroutine that runs on it now
    bool in_use = false;
    bool awaits_drop = false;
};

// Tells the mmap wrapper that maps of this thread are stacks while it lives.
class StackMapping {
  public:
    StackMapping();
    ~StackMapping();
    StackMapping(const StackMapping&) = delete;
    StackMapping& operator=(const StackMapping&) = delete;
};

// The stack on which libst put a thread object (it lies in the topmost page); nullptr when unknown.
Stack* stack_of_thread(const void* st_thread);

// The stack whose guard pages hold the address; nullptr when none. Async-signal-safe as long as no
// stack is being mapped.
const Stack* stack_guarded_at(const void* address);

// The coroutine of this stack is about to end: after the switch its memory is to be given back.
void mark_for_drop(Stack& stack);

// Gives back the memory of up to `limit` ended stacks. Must run on none of them. True when more are
// waiting.
bool drop_ended_stacks(size_t limit);

// Guard pages that could not be made since the last call (vm.max_map_count).
size_t take_guard_failures();

struct StackTotals {
    uint64_t count = 0;
    uint64_t bytes = 0;    // address space, guard pages not counted
    uint64_t dropped = 0;  // times that a stack's memory was given back
};

StackTotals stack_totals();

struct StackRange {
    const char* begin = nullptr;
    size_t size = 0;
};

// All stacks, neighbours merged: few ranges, so that a leak check stays fast (10,000 single ones
// make it take seconds).
std::vector<StackRange> merged_stack_ranges();

}  // namespace weir::io
