// The profilers of gperftools, as far as this build has them (--gperf=on, --gcp=on, --gmp=on).
// There is one CPU profile and one heap profile at a time per process, so these are functions and
// not objects. Media thread only, except CpuProfileFile; nothing yields.
//
// What they give is what `google-pprof objs/weir FILE` reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/build.h"
#include "base/clock.h"
#include "base/error.h"

namespace weir::diagnosis {

inline constexpr bool kHasCpuProfiler = WEIR_CPU_PROFILER != 0;
inline constexpr bool kHasHeapProfiler = WEIR_HEAP_PROFILER != 0;

// A CPU profile in memory is ended at this size, or after this time; it waits to be taken then.
inline constexpr uint64_t kMaxCpuProfile = 64u << 20;
inline constexpr Seconds kMaxCpuProfileTime{300};

// ---- CPU

bool cpu_profile_running();

// What there is of a profile, to be read piece by piece. May wait for a disk, so on a worker; one
// thread at a time.
class CpuProfileFile {
  public:
    // Takes `fd`. `goes_on`: the profiler has not written the profile's end yet.
    CpuProfileFile(int fd, bool goes_on) : fd_(fd), goes_on_(goes_on) {}

    CpuProfileFile(CpuProfileFile&& other) noexcept;
    CpuProfileFile& operator=(CpuProfileFile&&) = delete;
    CpuProfileFile(const CpuProfileFile&) = delete;
    CpuProfileFile& operator=(const CpuProfileFile&) = delete;
    ~CpuProfileFile();

    // First: what is written later is not part of it. kSystem.
    Error measure();

    uint64_t size() const { return file_bytes_ + tail_.size(); }

    // Some bytes from `at` on, at most those of `out`; 0 at the end. kSystem.
    Result<size_t> read(uint64_t at, std::span<uint8_t> out) const;

  private:
    int fd_;
    uint64_t file_bytes_ = 0;
    std::string tail_;
    bool goes_on_;
};

// Samples all threads 100 times per second of CPU time (CPUPROFILE_FREQUENCY changes that) from now
// on, into the file, or into memory when `path` is empty. kBusy when one is running, kSystem when
// the file cannot be written, kUnsupported without the profiler.
Error start_cpu_profile(const std::string& path);

// Ends a profile in memory that has its largest size or time. Call it every few seconds.
void limit_cpu_profile(MonoTime now);

// Why the last profile was ended by limit_cpu_profile(), until it is taken or another one starts;
// else empty.
std::string cpu_profile_ended();

// The profile up to now; it goes on, or waits still. kNotFound when none is running or waits.
Result<CpuProfileFile> dump_cpu_profile();

// Ends it and gives it. Its file, if it had one, stays. kNotFound as above.
Result<CpuProfileFile> stop_cpu_profile();

// File of the running CPU profile; empty when it is in memory or started by gperftools itself.
std::string cpu_profile_path();

// ---- heap

bool heap_profile_running();

// Counts every allocation by its call stack from now on: what was allocated before is not in it.
// `prefix` is that of the files that gperftools writes by itself: in builds with --gmp=on
// PREFIX.0001.heap at each 1 GiB allocated or 100 MiB more in use, in others none unless the
// environment asks for them (enter_tool_settings()). kBusy when one is running, kUnsupported
// without the profiler.
Error start_heap_profile(const std::string& prefix);

// What is in use now, by call stack: text of at most 1 MiB, largest first. kNotFound when none is
// running.
Result<std::string> dump_heap_profile();

// The same, and ends it.
Result<std::string> stop_heap_profile();

// ---- from start to end

// Starts what the build was configured for: --gcp=on a CPU profile into gperf.weir.gcp, --gmp=on a
// heap profile into gperf.weir.gmp.NNNN.heap, in the working folder; logs how they are read.
// Nothing in other builds, or when the environment (CPUPROFILE, HEAPPROFILE) has already started
// one.
void start_whole_run_profiles();

// Writes and ends what still runs.
void end_whole_run_profiles();

// Settings that gperftools reads before main(), so that they must be in the environment: this
// starts the program again with those that are not there yet. --gmc=on: HEAPCHECK=normal. A heap
// profiler that only the API starts: no files by itself, which nobody would remove
// (HEAP_PROFILE_ALLOCATION_INTERVAL=0, HEAP_PROFILE_INUSE_INTERVAL=0). Returns when there is
// nothing to do.
void enter_tool_settings(char** arguments);

}  // namespace weir::diagnosis
