// Names for the addresses of a heap profile, by GCC's libbacktrace and the debug information of the
// program. Only in builds with the heap profiler; elsewhere nothing is known.
#pragma once

#include <span>
#include <vector>

#include "diagnosis/leak_report.h"

namespace weir::diagnosis {

// The frames of return addresses, inlined functions included; at most kMaxReportFrames. The first
// call reads the debug information (some tenths of a second), which stays in memory outside the
// heap. Never yields.
std::vector<StackFrame> name_addresses(std::span<const uintptr_t> addresses);

// The address lies in the heap profiler itself.
bool is_heap_profiler(uintptr_t address);

}  // namespace weir::diagnosis
