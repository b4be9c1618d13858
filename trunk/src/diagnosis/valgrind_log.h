// Reads what valgrind's memcheck writes for one leak check: loss records with their stacks, and the
// summary. Pure.
//
// Taken are lines that begin with "==PID== "; others (the server's own, on a shared standard error)
// are skipped. What is cut off or garbled is skipped too, never guessed.
#pragma once

#include <string_view>

#include "diagnosis/leak_report.h"

namespace weir::diagnosis {

inline constexpr size_t kMaxValgrindRecords = 4096;  // the largest; valgrind lists them ascending

struct ValgrindLog {
    LeakTotals totals;  // only with a summary
    bool has_summary = false;
    std::vector<LeakRecord> records;
    size_t dropped_records = 0;  // over kMaxValgrindRecords
};

// `pid` chooses the lines. Deltas of records are set where valgrind gives them ("+N"); keys are
// set.
ValgrindLog parse_valgrind_log(std::string_view text, int pid);

}  // namespace weir::diagnosis
