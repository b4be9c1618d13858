#include "app/api/system_probe.h"

#include <algorithm>
#include <tuple>

#include <unistd.h>

#include "io/deadline.h"

namespace weir::app {
namespace {

constexpr Millis kReadDeadline{10'000};  // for a run on a worker, which has work of others too
constexpr double kSectorBytes = 512;

double share(double part, double whole) {
    return whole > 0 ? std::max(part, 0.0) / whole : 0;
}

double difference(uint64_t now, uint64_t before) {
    return now > before ? static_cast<double>(now - before) : 0;
}

}  // namespace

void SystemProbe::take(SystemFigures& figures) {
    figures.at = MonoClock::now();
    figures.wall_ms = wall_time_ms();
    figures.process = diagnosis::process_stats();
    getrusage(RUSAGE_SELF, &figures.usage);
    figures.process_stat = read_proc_file("/proc/self/stat");
    figures.cpu = parse_proc_stat(read_proc_file("/proc/stat"));
    figures.memory = parse_meminfo(read_proc_file("/proc/meminfo"));
    figures.net = parse_net_dev(read_proc_file("/proc/net/dev"));
    figures.disks = parse_diskstats(read_proc_file("/proc/diskstats"));
    figures.sockets = parse_sockstat(read_proc_file("/proc/net/sockstat"));
    figures.load = parse_loadavg(read_proc_file("/proc/loadavg"));
    std::tie(figures.uptime_s, figures.idle_s) = parse_uptime(read_proc_file("/proc/uptime"));
    figures.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
    figures.cores_online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

void SystemProbe::compare(SystemFigures& figures, const SystemFigures& before) {
    const bool first = before.at == MonoTime{};
    const double seconds =
        first ? figures.uptime_s : static_cast<double>((figures.at - before.at).count()) / 1e6;
    if (!first) {  // the process is younger than the machine
        figures.process_cpu =
            share(figures.process.cpu_seconds - before.process.cpu_seconds, seconds);
    }
    const double ticks = difference(figures.cpu.all(), before.cpu.all());
    figures.system_cpu = share(ticks - difference(figures.cpu.idle(), before.cpu.idle()), ticks);
    figures.disk_read_bps = share(
        difference(figures.disks.read_sectors, before.disks.read_sectors) * kSectorBytes, seconds);
    figures.disk_written_bps = share(
        difference(figures.disks.written_sectors, before.disks.written_sectors) * kSectorBytes,
        seconds);
    figures.disk_busy = std::min(
        share(difference(figures.disks.busy_ms, before.disks.busy_ms) / 1000, seconds), 1.0);
}

Result<SystemFigures> SystemProbe::read() {
    if (runs_ > 0 && MonoClock::now() - last_.at < kFresh) {
        return last_;
    }
    if (reading_) {
        // Somebody else's run, so that a crowd of requests costs what one costs.
        for (const uint64_t before = runs_; reading_ && runs_ == before;) {
            WEIR_TRY(done_.wait_until(io::Deadline::after(kReadDeadline)));
        }
        if (runs_ == 0) {
            return make_error(ErrorCode::kLimit, "the first reading was refused");
        }
        return last_;
    }
    SystemFigures figures;
    if (workers_ == nullptr) {
        take(figures);
    } else {
        reading_ = true;
        Error refused = workers_->run([&figures] { take(figures); });
        reading_ = false;
        if (refused) {
            done_.notify_all();
            return refused;
        }
    }
    compare(figures, last_);
    last_ = std::move(figures);
    runs_++;
    done_.notify_all();
    return last_;
}

}  // namespace weir::app
