// Reads the heap profile that gperftools' allocator gives as text: what is in use, by the stack
// that allocated it. Pure; the stacks are addresses. What is cut off or garbled is skipped.
#pragma once

#include <string_view>

#include "diagnosis/leak_report.h"

namespace weir::diagnosis {

inline constexpr size_t kMaxHeapStacks = 16384;

struct HeapProfile {
    bool valid = false;               // it begins with the line of totals
    std::vector<LeakRecord> records;  // kReachable, with addresses and keys; no names
    size_t dropped_records = 0;       // over kMaxHeapStacks
};

HeapProfile parse_heap_profile(std::string_view text);

}  // namespace weir::diagnosis
