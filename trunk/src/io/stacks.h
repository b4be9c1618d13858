// Every stack that libst maps, also that of its idle thread: guard pages, leak-check roots, memory
// given back.
//
// libst maps stacks with mmap and never unmaps them; the linker's --wrap=mmap shows us each one
// before its first use. Ended stacks wait in libst's own free list, which hands out the one that
// ended longest ago. Media thread only, also from app/ (the figures and ranges), except
// resident_stack_bytes().
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
    char* live = nullptr;  // sanitizer builds: while its coroutine does not run, nothing below this
                           // is in use
    void* fake = nullptr;  // and where its locals are with detect_stack_use_after_return
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

// A coroutine will run on it from now on.
void mark_in_use(Stack& stack);

// The coroutine of this stack is about to end: after the switch its memory is to be given back.
void mark_for_drop(Stack& stack);

// Gives back the memory of up to `limit` ended stacks. The caller must not run on one of them. True
// when more are waiting.
bool drop_ended_stacks(size_t limit);

// Sanitizer builds: empties what is below `live` of every stack whose coroutine does not run.
// Pointers that ended calls have left there would hide lost blocks from a leak check.
void wipe_dead_parts();

// The stack of the media thread itself, which libst did not map: no part of the totals and ranges,
// and never wiped. The scheduler fills it in.
Stack& main_stack();

// Guard pages that could not be made since the last call (vm.max_map_count).
size_t take_guard_failures();

struct StackTotals {
    uint64_t count = 0;
    uint64_t bytes = 0;    // address space, guard pages not counted
    uint64_t dropped = 0;  // times that a stack's memory was given back
};

StackTotals stack_totals();

// Neighbouring stacks as one piece of the address space.
struct StackRange {
    const char* begin = nullptr;
    size_t size = 0;
};

// All stacks, neighbours merged: few ranges, so that a leak check stays fast (10,000 single ones
// make it take seconds).
std::vector<StackRange> merged_stack_ranges();

// Sanitizer builds with detect_stack_use_after_return: the locals of all calls of coroutines that
// do not run, which are on none of the stacks. Empty otherwise.
std::vector<StackRange> fake_frames();

// Bytes of those ranges that are in memory now. Any thread; the ranges never go away. Milliseconds
// for 10,000 stacks.
uint64_t resident_stack_bytes(const std::vector<StackRange>& ranges);

}  // namespace weir::io
