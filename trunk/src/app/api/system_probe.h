// SystemProbe: figures of the machine and of the process, read below /proc on a worker, since with
// many descriptors that takes milliseconds.
//
// Requests that come meanwhile get the same reading, and one that is kFresh old is good enough:
// however often it is asked for, the machine is not busy with it.
#pragma once

#include <sys/resource.h>

#include "app/api/proc_files.h"
#include "base/clock.h"
#include "base/error.h"
#include "diagnosis/process_stats.h"
#include "io/signal.h"
#include "io/worker_pool.h"

namespace weir::app {

struct SystemFigures {
    MonoTime at{};
    int64_t wall_ms = 0;
    diagnosis::ProcessStats process;
    rusage usage{};
    std::string process_stat;  // the text
    CpuTicks cpu;
    MemInfo memory;
    NetBytes net;
    DiskCounters disks;
    SocketCounts sockets;
    std::array<double, 3> load{};
    double uptime_s = 0;
    double idle_s = 0;
    int cores = 0;
    int cores_online = 0;
    // Since the reading before, of those that were at least kFresh apart; since boot or start
    // before there is one.
    double process_cpu = 0;    // of one core: 1 is a whole one
    double system_cpu = 0;     // of all cores, 0 to 1
    double disk_read_bps = 0;  // bytes per second
    double disk_written_bps = 0;
    double disk_busy = 0;  // of the busiest one, 0 to 1
};

class SystemProbe {
  public:
    static constexpr Millis kFresh{500};

    // Null: it is read in place, for tests.
    void use(io::WorkerPool* workers) { workers_ = workers; }

    // Yields. kLimit: the workers have too much to do.
    Result<SystemFigures> read();

  private:
    static void take(SystemFigures& figures);
    static void compare(SystemFigures& figures, const SystemFigures& before);

    io::WorkerPool* workers_ = nullptr;
    SystemFigures last_;
    io::Signal done_;
    bool reading_ = false;
    uint64_t runs_ = 0;
};

}  // namespace weir::app
