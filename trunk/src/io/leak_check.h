// Leak checks of the sanitizer build: coroutine stacks are no roots for LeakSanitizer, so they are
// made some, merged, only while a check runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace weir::io {

// Makes a check at the end of the process see the stacks. Called by init_runtime().
void install_leak_check();

// Looks for leaks now; the report goes to the sanitizer's log. True when there are some; they are
// reported again by every later check. The process stands still meanwhile (16 ms with 100 stacks,
// 260 ms with 10,000). kUnsupported in other builds.
Result<bool> check_leaks();

struct SanitizerLeaks {
    bool found = false;       // something is lost that no suppression names
    std::string text;         // the report: records when `found`, suppressions that were used
    uint64_t heap_bytes = 0;  // allocated and not freed when the check was over, lost or not
    std::string heap;         // what that is, by stack, the most first; lost blocks are among it
};

inline constexpr size_t kMaxListedHeapStacks = 1024;

// The same, with the report here and not in the sanitizer's log. `limit`: bytes of each text
// that are kept: its begin, with the largest records, and its end, with the sum; whole records.
// kUnsupported in other builds and where an option turns LeakSanitizer off; kBusy while a debugger
// or strace watches the process, because a check would end it then.
Result<SanitizerLeaks> sanitizer_leaks(size_t limit);

struct SanitizerHeap {
    uint64_t in_use_bytes = 0;  // allocated and not freed
    uint64_t held_bytes = 0;    // all that the allocator has from the system
};

// What the sanitizer's allocator says; zeros in other builds. Any thread.
SanitizerHeap sanitizer_heap();

}  // namespace weir::io
