// What the kernel says about this process, for the API and /metrics. Reads /proc: microseconds,
// never a disk.
#pragma once

#include <cstdint>

namespace weir::diagnosis {

struct ProcessStats {
    double cpu_seconds = 0;  // user and system, since start
    uint64_t resident_bytes = 0;
    uint64_t virtual_bytes = 0;
    uint64_t open_descriptors = 0;
    uint64_t max_descriptors = 0;
    uint64_t voluntary_switches = 0;
    uint64_t involuntary_switches = 0;
};

// Counts the open descriptors one by one: the more connections, the longer.
ProcessStats process_stats();

// User and system, since start. Cheap.
double cpu_time();

struct MemoryStats {
    uint64_t resident_bytes = 0;
    uint64_t virtual_bytes = 0;
};

// These alone. Any thread.
MemoryStats memory_stats();

// Resident bytes that no other process shares, 0 when the kernel does not say. Walks the page
// tables: milliseconds with many stacks, so on a worker.
uint64_t unique_bytes();

}  // namespace weir::diagnosis
