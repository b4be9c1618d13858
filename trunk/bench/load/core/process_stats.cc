#include "bench/load/core/process_stats.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <unistd.h>

namespace weir::load {
namespace {

Result<std::string> read_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        return make_error(ErrorCode::kNotFound, "{} cannot be read", path);
    }
    std::string text;
    std::array<char, 1024> part{};
    while (file.read(part.data(), part.size()) || file.gcount() > 0) {
        text.append(part.data(), static_cast<size_t>(file.gcount()));
    }
    if (text.empty()) {
        return make_error(ErrorCode::kDenied,
                          "{} is empty: the process has ended, or belongs to somebody else", path);
    }
    return text;
}

// Adds what only the threads tell. Threads may end while we look.
void add_threads(const std::string& folder, ProcessSample& sample) {
    std::error_code ignored;
    uint64_t exact_ns = 0;
    for (const auto& thread : std::filesystem::directory_iterator(folder + "/task", ignored)) {
        auto status = read_file(thread.path().string() + "/status");
        if (!status.ok()) {
            continue;
        }
        if (auto schedule = read_file(thread.path().string() + "/schedstat"); schedule.ok()) {
            uint64_t ran_ns = 0;  // the first of three numbers
            std::from_chars(schedule->data(), schedule->data() + schedule->size(), ran_ns);
            exact_ns += ran_ns;
        }
        auto voluntary = field_of(*status, "voluntary_ctxt_switches");
        auto involuntary = field_of(*status, "nonvoluntary_ctxt_switches");
        if (voluntary.ok() && involuntary.ok()) {
            sample.threads++;
            sample.voluntary_switches += *voluntary;
            sample.involuntary_switches += *involuntary;
        }
    }
    // Ticks are 10 ms and rounded down, too coarse for a server that needs 3 % of a core; but they
    // contain threads that have ended.
    sample.cpu_us = std::max(sample.cpu_us, exact_ns / 1000);
}

}  // namespace

Result<uint64_t> cpu_ticks(std::string_view stat) {
    // Behind the last ')': state, then ten numbers, then utime and stime (proc(5)).
    static constexpr int kFieldsBefore = 11;
    size_t at = stat.rfind(')');
    if (at != std::string_view::npos) {
        std::string_view rest = stat.substr(at + 1);
        for (int i = 0; i < kFieldsBefore; i++) {
            rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
            rest.remove_prefix(std::min(rest.size(), rest.find(' ')));
        }
        uint64_t user = 0;
        uint64_t system = 0;
        rest.remove_prefix(std::min<size_t>(rest.size(), 1));
        auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), user);
        if (status == std::errc() && end < rest.data() + rest.size() &&
            std::from_chars(end + 1, rest.data() + rest.size(), system).ec == std::errc()) {
            return user + system;
        }
    }
    return make_error(ErrorCode::kMalformed, "/proc/PID/stat has no CPU times");
}

Result<uint64_t> field_of(std::string_view text, std::string_view name) {
    while (!text.empty()) {
        size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') {
            continue;
        }
        line.remove_prefix(name.size() + 1);
        line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
        uint64_t value = 0;
        if (std::from_chars(line.data(), line.data() + line.size(), value).ec == std::errc()) {
            return value;
        }
        break;
    }
    return make_error(ErrorCode::kMalformed, "no number behind '{}:'", name);
}

Result<QuickSample> sample_quickly(pid_t pid) {
    QuickSample sample;
    WEIR_TRY_ASSIGN(std::string stat, read_file(fmt::format("/proc/{}/stat", pid)));
    WEIR_TRY_ASSIGN(uint64_t ticks, cpu_ticks(stat));
    sample.cpu_us = ticks * 1'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
    WEIR_TRY_ASSIGN(std::string status, read_file(fmt::format("/proc/{}/status", pid)));
    WEIR_TRY_ASSIGN(sample.resident_kib, field_of(status, "VmRSS"));
    return sample;
}

Result<ProcessSample> sample_process(pid_t pid) {
    std::string folder = fmt::format("/proc/{}", pid);
    ProcessSample sample;
    auto stat = read_file(folder + "/stat");
    if (!stat.ok()) {
        return make_error(ErrorCode::kNotFound, "there is no process {}", pid);
    }
    WEIR_TRY_ASSIGN(uint64_t ticks, cpu_ticks(*stat));
    sample.cpu_us = ticks * 1'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
    WEIR_TRY_ASSIGN(std::string memory, read_file(folder + "/smaps_rollup"));
    WEIR_TRY_ASSIGN(sample.private_dirty_kib, field_of(memory, "Private_Dirty"));
    WEIR_TRY_ASSIGN(sample.anonymous_kib, field_of(memory, "Anonymous"));
    WEIR_TRY_ASSIGN(sample.resident_kib, field_of(memory, "Rss"));
    add_threads(folder, sample);
    return sample;
}

}  // namespace weir::load
