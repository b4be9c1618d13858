// What files below /proc say of the machine: pure, from their text. What is missing stays 0.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::app {

// The first line of /proc/stat, in clock ticks since boot: user, nice, system, idle, iowait, irq,
// softirq, steal, guest, guest_nice.
struct CpuTicks {
    std::array<uint64_t, 10> ticks{};

    uint64_t idle() const { return ticks[3] + ticks[4]; }

    // Guests' time is in user and nice already.
    uint64_t all() const;
};

CpuTicks parse_proc_stat(std::string_view text);

// /proc/meminfo, in kibibytes.
struct MemInfo {
    uint64_t total = 0;
    uint64_t free = 0;
    uint64_t available = 0;
    uint64_t buffers = 0;
    uint64_t cached = 0;
    uint64_t active = 0;
    uint64_t swap_total = 0;
    uint64_t swap_free = 0;

    uint64_t used() const { return total > available ? total - available : 0; }

    double ram_share() const;   // used, 0 to 1
    double swap_share() const;  // 0 without swap
};

MemInfo parse_meminfo(std::string_view text);

// /proc/net/dev: bytes since boot, of the loopback interface and of all others.
struct NetBytes {
    uint64_t received = 0;
    uint64_t sent = 0;
    uint64_t loopback_received = 0;
    uint64_t loopback_sent = 0;
};

NetBytes parse_net_dev(std::string_view text);

// /proc/diskstats, of whole disks: sectors of 512 bytes, milliseconds of work.
struct DiskCounters {
    uint64_t read_sectors = 0;
    uint64_t written_sectors = 0;
    uint64_t busy_ms = 0;  // the busiest disk's
};

DiskCounters parse_diskstats(std::string_view text);

// /proc/net/sockstat.
struct SocketCounts {
    uint64_t all = 0;
    uint64_t tcp = 0;
    uint64_t tcp_waiting = 0;  // TIME_WAIT
    uint64_t udp = 0;
};

SocketCounts parse_sockstat(std::string_view text);

// /proc/loadavg: over 1, 5 and 15 minutes.
std::array<double, 3> parse_loadavg(std::string_view text);

// /proc/uptime: seconds since boot, and those that the cores were idle, added up.
std::pair<double, double> parse_uptime(std::string_view text);

// /proc/PID/stat, name and value; the addresses in memory and the masks of signals are left out,
// the name of the program is not in it.
std::vector<std::pair<const char*, int64_t>> parse_process_stat(std::string_view text);

// The beginning of a file, at most 64 KiB; empty when it cannot be read. Of /proc only: it blocks.
std::string read_proc_file(const char* path);

}  // namespace weir::app
