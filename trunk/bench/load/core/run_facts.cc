#include <algorithm>
#include <ctime>
#include <fstream>

#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sched.h>

#include "base/version.h"

#include "bench/load/core/html_report.h"
#include "bench/load/core/units.h"

namespace weir::load {
namespace {

constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+";

// As one would type it in a shell.
std::string quoted(std::string_view argument) {
    if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string_view::npos) {
        return std::string(argument);
    }
    std::string out = "'";
    for (char c : argument) {
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return out + "'";
}

// The value behind "name : " in /proc/cpuinfo and the like; empty when it is not there.
std::string value_in(const char* file, std::string_view name) {
    std::ifstream in(file);
    std::string line;
    while (std::getline(in, line)) {
        size_t colon = line.find(':');
        if (colon != std::string::npos && line.starts_with(name)) {
            size_t begin = line.find_first_not_of(" \t", colon + 1);
            return begin == std::string::npos ? "" : line.substr(begin);
        }
    }
    return "";
}

std::string utc_now() {
    std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string cores() {
    int64_t online = sysconf(_SC_NPROCESSORS_ONLN);
    std::string out = fmt::format("{}", online);
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_COUNT(&allowed) < online) {
        out += fmt::format(", this process on {} of them", CPU_COUNT(&allowed));
    }
    return out;
}

}  // namespace

RunFacts gather_facts(std::span<const char* const> arguments) {
    RunFacts facts;
    for (const char* argument : arguments) {
        facts.command_line += (facts.command_line.empty() ? "" : " ") + quoted(argument);
    }
    facts.started = utc_now();
    auto add = [&](const char* name, std::string value) {
        if (!value.empty()) {
            facts.environment.emplace_back(name, std::move(value));
        }
    };
    add("load client", fmt::format("weir-bench {}, built with gcc {}", kVersion, __VERSION__));
    add("processor", value_in("/proc/cpuinfo", "model name"));
    add("cores", cores());
    int64_t pages = sysconf(_SC_PHYS_PAGES);
    int64_t page_size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page_size > 0) {
        add("memory", fmt::format("{:.1f} GiB", static_cast<double>(pages) *
                                                    static_cast<double>(page_size) / 1073741824.0));
    }
    utsname system{};
    if (uname(&system) == 0) {
        add("kernel", fmt::format("{} {} {}", system.sysname, system.release, system.machine));
    }
    return facts;
}

}  // namespace weir::load
