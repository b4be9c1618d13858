#include "diagnosis/heap_stats.h"

#include <algorithm>
#include <cstddef>

#include "base/build.h"

#define WEIR_TCMALLOC (WEIR_HEAP_PROFILER || WEIR_GMC || WEIR_GMD)

#if WEIR_ASAN
#include "io/leak_check.h"
#elif WEIR_TCMALLOC
#include <gperftools/malloc_extension.h>
#else
#include <malloc.h>
#endif
#if WEIR_VALGRIND
#include <valgrind/valgrind.h>
#endif

namespace weir::diagnosis {

#if WEIR_ASAN

const char* heap_allocator() {
    return "sanitizer";
}

std::optional<HeapStats> heap_stats() {
    const io::SanitizerHeap heap = io::sanitizer_heap();
    HeapStats stats{heap_allocator()};
    stats.in_use_bytes = heap.in_use_bytes;
    stats.free_held_bytes = heap.held_bytes - std::min(heap.in_use_bytes, heap.held_bytes);
    return stats;
}

#elif WEIR_TCMALLOC

const char* heap_allocator() {
    return "tcmalloc";
}

std::optional<HeapStats> heap_stats() {
    size_t in_use = 0;
    size_t held = 0;
    size_t given_back = 0;  // address space that is kept, without memory
    MallocExtension* allocator = MallocExtension::instance();
    if (!allocator->GetNumericProperty("generic.current_allocated_bytes", &in_use) ||
        !allocator->GetNumericProperty("generic.heap_size", &held) ||
        !allocator->GetNumericProperty("tcmalloc.pageheap_unmapped_bytes", &given_back)) {
        return std::nullopt;
    }
    HeapStats stats{heap_allocator()};
    stats.in_use_bytes = in_use;
    stats.free_held_bytes = held > in_use + given_back ? held - in_use - given_back : 0;
    return stats;
}

#else

namespace {

// It replaces the allocator of a program that runs under it, and tells nothing of its own.
bool under_valgrind() {
#if WEIR_VALGRIND
    return RUNNING_ON_VALGRIND != 0;
#else
    return false;
#endif
}

}  // namespace

const char* heap_allocator() {
    return under_valgrind() ? "valgrind" : "glibc";
}

std::optional<HeapStats> heap_stats() {
    if (under_valgrind()) {
        return std::nullopt;
    }
    const struct mallinfo2 info = mallinfo2();
    HeapStats stats{heap_allocator()};
    stats.in_use_bytes = info.uordblks + info.hblkhd;
    stats.free_held_bytes = info.fordblks;
    stats.mapped_bytes = info.hblkhd;
    return stats;
}

#endif

}  // namespace weir::diagnosis
