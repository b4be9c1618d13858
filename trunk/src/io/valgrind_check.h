// Leak checks by valgrind's memcheck from inside: the client requests, and the report that valgrind
// writes into its log. Only in builds with ./configure --valgrind=on, and only while the process
// runs under valgrind.
//
// Where valgrind writes is found without being told: its log is one of the files that this process
// has open, and the one in which a line of ours turns up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace weir::io {

enum class ValgrindCheck : uint8_t {
    kFull,     // every loss record
    kAdded,    // records that grew since the last check
    kChanged,  // records that grew or shrank
    kQuick,    // totals only
    kNew,      // records that are new; valgrind 3.21 and later
};

// This build can talk to valgrind, and valgrind runs this process.
bool on_valgrind();

// The header that this was built with knows kNew. (The valgrind that runs may still not.)
bool knows_new_valgrind_check();

struct ValgrindCount {
    uint64_t lost =
        0;  // definitely and indirectly lost together: valgrind does not tell them apart
    uint64_t possibly = 0;
    uint64_t reachable = 0;
    uint64_t suppressed = 0;
};

struct ValgrindReport {
    ValgrindCount bytes;
    ValgrindCount blocks;
    std::string text;     // what valgrind wrote for this check, its end when there is more
    std::string no_text;  // why `text` is empty: a sentence that says what to do
};

// Looks for leaks now; the process stands still meanwhile. `limit`: bytes of the report that are
// read at most. kUnsupported when not on valgrind, or when the valgrind that runs does not know the
// check (in that case it has done another one, which must not be used as the answer).
Result<ValgrindReport> valgrind_leak_check(ValgrindCheck check, size_t limit);

}  // namespace weir::io
