#include "diagnosis/process_stats.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include <dirent.h>

namespace weir::diagnosis {
namespace {

uint64_t count_descriptors() {
    DIR* folder = opendir("/proc/self/fd");
    if (!folder) {
        return 0;
    }
    uint64_t count = 0;
    while (const dirent* entry = readdir(folder)) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    closedir(folder);
    return count > 0 ? count - 1 : 0;  // without the folder's own
}

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

ProcessStats process_stats() {
    ProcessStats stats;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    stats.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    stats.voluntary_switches = static_cast<uint64_t>(usage.ru_nvcsw);
    stats.involuntary_switches = static_cast<uint64_t>(usage.ru_nivcsw);
    const MemoryStats memory = memory_stats();
    stats.virtual_bytes = memory.virtual_bytes;
    stats.resident_bytes = memory.resident_bytes;
    stats.open_descriptors = count_descriptors();
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    stats.max_descriptors = limit.rlim_cur;
    return stats;
}

double cpu_time() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

MemoryStats memory_stats() {
    std::ifstream statm("/proc/self/statm");
    uint64_t total_pages = 0;
    uint64_t resident_pages = 0;
    statm >> total_pages >> resident_pages;
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return {resident_pages * page, total_pages * page};
}

uint64_t unique_bytes() {
    std::ifstream rollup("/proc/self/smaps_rollup");
    uint64_t total = 0;
    for (std::string line; std::getline(rollup, line);) {
        if (line.starts_with("Private_")) {  // "Private_Dirty:      1234 kB"
            total += std::strtoull(line.c_str() + line.find(':') + 1, nullptr, 10) * 1024;
        }
    }
    return total;
}

}  // namespace weir::diagnosis
