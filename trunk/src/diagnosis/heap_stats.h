// What the allocator of this build says about the heap.
#pragma once

#include <cstdint>
#include <optional>

namespace weir::diagnosis {

struct HeapStats {
    const char* allocator;         // "glibc", "sanitizer", "tcmalloc", "valgrind"
    uint64_t in_use_bytes = 0;     // handed out, not freed
    uint64_t free_held_bytes = 0;  // freed, but not given back to the system
    uint64_t mapped_bytes = 0;     // of in_use_bytes: large blocks with a map of their own
};

// Any thread. glibc counts with the locks of its heaps held, one after the other: who allocates
// meanwhile, the media thread too, waits, microseconds as a rule and longer the more free pieces
// there are. None when the allocator does not tell.
std::optional<HeapStats> heap_stats();

// The name alone.
const char* heap_allocator();

}  // namespace weir::diagnosis
