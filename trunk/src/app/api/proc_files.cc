#include "app/api/proc_files.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fcntl.h>
#include <unistd.h>

namespace weir::app {
namespace {

constexpr size_t kMaxFileBytes = 64 * 1024;

// Cuts the next line off.
std::string_view take_line(std::string_view& text) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

// Cuts the next word off; empty at the end.
std::string_view take_word(std::string_view& text) {
    const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    text.remove_prefix(begin);
    const size_t end = std::min(text.find_first_of(" \t"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    return word;
}

template <typename Number>
Number number(std::string_view word) {
    Number value{};
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
}

uint64_t take_number(std::string_view& text) {
    return number<uint64_t>(take_word(text));
}

double share(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// "sda", "nvme0n1", "vda" and "md0" are disks; "sda1", "nvme0n1p2", "loop0", "dm-0" are parts of
// them, or stand for them a second time.
bool is_disk(std::string_view name) {
    const auto begins = [name](std::string_view text) { return name.starts_with(text); };
    if (begins("nvme") || begins("mmcblk")) {
        return name.find('p') == std::string_view::npos;
    }
    return (begins("sd") || begins("vd") || begins("xvd") || begins("hd")) && !name.empty() &&
           std::isdigit(static_cast<unsigned char>(name.back())) == 0;
}

}  // namespace

uint64_t CpuTicks::all() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < 8; i++) {
        sum += ticks[i];
    }
    return sum;
}

CpuTicks parse_proc_stat(std::string_view text) {
    CpuTicks cpu;
    std::string_view line = take_line(text);
    if (take_word(line) == "cpu") {
        for (uint64_t& each : cpu.ticks) {
            each = take_number(line);
        }
    }
    return cpu;
}

double MemInfo::ram_share() const {
    return share(used(), total);
}

double MemInfo::swap_share() const {
    return share(swap_total - std::min(swap_free, swap_total), swap_total);
}

MemInfo parse_meminfo(std::string_view text) {
    MemInfo info;
    const std::pair<std::string_view, uint64_t*> wanted[] = {
        {"MemTotal:", &info.total},         {"MemFree:", &info.free},
        {"MemAvailable:", &info.available}, {"Buffers:", &info.buffers},
        {"Cached:", &info.cached},          {"Active:", &info.active},
        {"SwapTotal:", &info.swap_total},   {"SwapFree:", &info.swap_free}};
    while (!text.empty()) {
        std::string_view line = take_line(text);
        const std::string_view name = take_word(line);
        for (const auto& [known, value] : wanted) {
            if (name == known) {
                *value = take_number(line);
            }
        }
    }
    return info;
}

NetBytes parse_net_dev(std::string_view text) {
    NetBytes bytes;
    while (!text.empty()) {
        std::string_view line = take_line(text);
        const size_t colon = line.find(':');
        if (colon == std::string_view::npos) {
            continue;  // the two lines of the head
        }
        std::string_view name = line.substr(0, colon);
        name = take_word(name);
        line.remove_prefix(colon + 1);
        const uint64_t received = take_number(line);
        for (int i = 0; i < 7; i++) {  // packets, errs, drop, fifo, frame, compressed, multicast
            take_word(line);
        }
        const uint64_t sent = take_number(line);
        (name == "lo" ? bytes.loopback_received : bytes.received) += received;
        (name == "lo" ? bytes.loopback_sent : bytes.sent) += sent;
    }
    return bytes;
}

DiskCounters parse_diskstats(std::string_view text) {
    DiskCounters disks;
    while (!text.empty()) {
        std::string_view line = take_line(text);
        take_word(line);
        take_word(line);
        if (!is_disk(take_word(line))) {
            continue;
        }
        std::array<uint64_t, 10> fields{};
        for (uint64_t& field : fields) {
            field = take_number(line);
        }
        disks.read_sectors += fields[2];
        disks.written_sectors += fields[6];
        disks.busy_ms = std::max(disks.busy_ms, fields[9]);
    }
    return disks;
}

SocketCounts parse_sockstat(std::string_view text) {
    SocketCounts counts;
    while (!text.empty()) {
        std::string_view line = take_line(text);
        const std::string_view kind = take_word(line);
        while (!line.empty()) {
            const std::string_view name = take_word(line);
            const uint64_t value = take_number(line);
            if (kind == "sockets:" && name == "used") {
                counts.all = value;
            } else if (kind == "TCP:" && name == "inuse") {
                counts.tcp = value;
            } else if (kind == "TCP:" && name == "tw") {
                counts.tcp_waiting = value;
            } else if (kind == "UDP:" && name == "inuse") {
                counts.udp = value;
            }
        }
    }
    return counts;
}

std::array<double, 3> parse_loadavg(std::string_view text) {
    std::array<double, 3> load{};
    for (double& each : load) {
        each = number<double>(take_word(text));
    }
    return load;
}

std::pair<double, double> parse_uptime(std::string_view text) {
    const auto up = number<double>(take_word(text));
    std::string_view rest = take_line(text);
    return {up, number<double>(take_word(rest))};
}

std::vector<std::pair<const char*, int64_t>> parse_process_stat(std::string_view text) {
    // proc(5), from the third field on: the program's name before it may hold anything.
    static constexpr std::array<const char*, 50> kNames = {
        nullptr /* state */,
        "ppid",
        "pgrp",
        "session",
        "tty_nr",
        "tpgid",
        "flags",
        "minflt",
        "cminflt",
        "majflt",
        "cmajflt",
        "utime",
        "stime",
        "cutime",
        "cstime",
        "priority",
        "nice",
        "num_threads",
        "itrealvalue",
        "starttime",
        "vsize",
        "rss",
        nullptr /* rsslim: most often 2^64 - 1 */,
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        "nswap",
        "cnswap",
        "exit_signal",
        "processor",
        "rt_priority",
        "policy",
        "delayacct_blkio_ticks",
        "guest_time",
        "cguest_time",
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        nullptr};
    std::vector<std::pair<const char*, int64_t>> values;
    const size_t end_of_name = text.rfind(')');
    if (end_of_name == std::string_view::npos) {
        return values;
    }
    text.remove_prefix(end_of_name + 1);
    text = take_line(text);
    for (const char* name : kNames) {
        const std::string_view word = take_word(text);
        if (word.empty()) {
            break;
        }
        if (name != nullptr) {
            values.emplace_back(name, number<int64_t>(word));
        }
    }
    return values;
}

std::string read_proc_file(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return {};
    }
    std::string text(kMaxFileBytes, '\0');
    size_t size = 0;
    while (size < text.size()) {
        const ssize_t got = read(fd, text.data() + size, text.size() - size);
        if (got <= 0) {
            break;
        }
        size += static_cast<size_t>(got);
    }
    close(fd);
    text.resize(size);
    return text;
}

}  // namespace weir::app
