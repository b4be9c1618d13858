// CPU time, context switches and memory of a process by its /proc files.
#pragma once

#include <cstdint>
#include <string_view>

#include <sys/types.h>

#include "base/error.h"

namespace weir::load {

struct ProcessSample {
    uint64_t cpu_us = 0;              // user and system time of all threads
    uint64_t voluntary_switches = 0;  // of all threads
    uint64_t involuntary_switches = 0;
    uint64_t private_dirty_kib = 0;  // pages of its own that it has written: its user memory
    uint64_t anonymous_kib = 0;
    uint64_t resident_kib = 0;
    uint64_t threads = 0;
};

// kNotFound: no such process (any more); kDenied: smaps_rollup may not be read.
Result<ProcessSample> sample_process(pid_t pid);

struct QuickSample {
    uint64_t cpu_us = 0;  // user and system time of all threads
    uint64_t resident_kib = 0;
};

// What is cheap enough to be looked at every second: does not walk page tables or threads.
// kNotFound.
Result<QuickSample> sample_quickly(pid_t pid);

// The parts, for tests: clock ticks of /proc/PID/stat (whose command name may hold spaces and
// parentheses), and the number behind "Name:" in status and smaps_rollup. kMalformed when it is not
// there.
Result<uint64_t> cpu_ticks(std::string_view stat);
Result<uint64_t> field_of(std::string_view text, std::string_view name);

}  // namespace weir::load
