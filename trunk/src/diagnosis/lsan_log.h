// Reads the report of LeakSanitizer: direct and indirect leaks with their stacks, suppressed ones
// as a total, and the sum; and the sanitizer's list of what is on the heap, by stack. Pure. What is
// cut off or garbled is skipped, never guessed.
#pragma once

#include <string_view>

#include "base/error.h"
#include "diagnosis/leak_report.h"

namespace weir::diagnosis {

inline constexpr size_t kMaxLsanRecords = 4096;  // the first; the sanitizer lists the largest first

struct LsanLog {
    std::vector<LeakRecord> records;  // direct is kDefinitely, indirect kIndirectly; keys are set
    LeakAmount suppressed;
    LeakAmount sum;              // of all records, also of those that are not here
    bool complete = false;       // the line of the sum was there
    size_t dropped_records = 0;  // over kMaxLsanRecords
};

LsanLog parse_lsan_log(std::string_view text);

// The list of the heap: records of kReachable, lost blocks among them. Those of `lost`, which the
// same check found, are taken off.
std::vector<LeakRecord> parse_heap_list(std::string_view text, const std::vector<LeakRecord>& lost);

// What a check found. `found`: LeakSanitizer says that there are leaks; `heap_bytes`: what its
// allocator has given out; `heap_list`: its list of that. Where records are missing, the totals are
// those of the sum, and direct and indirect leaks are not told apart. kInternal without a sum.
Result<RawLeaks> lsan_findings(LsanLog log,
                               bool found,
                               uint64_t heap_bytes,
                               std::string_view heap_list = {});

}  // namespace weir::diagnosis
