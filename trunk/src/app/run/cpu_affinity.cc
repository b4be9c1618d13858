#include "app/run/cpu_affinity.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <sched.h>

namespace weir::app {
namespace {

static_assert(config::kMaxCore < CPU_SETSIZE);

CoreNumbers numbers_of(const cpu_set_t& set) {
    CoreNumbers cores;
    for (uint16_t core = 0; core <= config::kMaxCore; core++) {
        if (CPU_ISSET(core, &set)) {
            cores.push_back(core);
        }
    }
    return cores;
}

}  // namespace

CoreNumbers current_cores() {
    const Result<cpu_set_t> mask = core_mask();
    return mask.ok() ? numbers_of(*mask) : CoreNumbers();
}

Result<cpu_set_t> core_mask() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) {
        return Error::from_errno(errno, "ask for the cores of this thread");
    }
    return mask;
}

Error put_back(const cpu_set_t& mask) {
    if (sched_setaffinity(0, sizeof mask, &mask) != 0) {
        return Error::from_errno(errno, "run on the cores of before");
    }
    return {};
}

CoreNumbers available_cores() {
    const Result<cpu_set_t> before = core_mask();
    if (!before.ok()) {
        return {};
    }
    cpu_set_t all;
    CPU_ZERO(&all);
    for (size_t core = 0; core <= config::kMaxCore; core++) {
        CPU_SET(core, &all);
    }
    // The kernel takes what exists and is allowed, and leaves out the rest.
    if (sched_setaffinity(0, sizeof all, &all) != 0) {
        return numbers_of(*before);
    }
    CoreNumbers cores = current_cores();
    (void)put_back(*before).code();  // it ran there a moment ago
    return cores;
}

std::string core_list_text(const CoreNumbers& cores) {
    std::string text;
    for (size_t i = 0; i < cores.size();) {
        size_t last = i;
        while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) {
            last++;
        }
        text += text.empty() ? "" : ",";
        text +=
            last == i ? fmt::format("{}", cores[i]) : fmt::format("{}-{}", cores[i], cores[last]);
        i = last + 1;
    }
    return text.empty() ? "none" : text;
}

std::vector<Diagnostic> missing_cores(const config::Config& config, const CoreNumbers& available) {
    std::vector<Diagnostic> missing;
    for (const config::CoreSet* set : {&config.cpu_affinity, &config.worker_cpu_affinity}) {
        for (const config::CoreRange& range : set->ranges) {
            for (uint32_t core = range.first; core <= range.last; core++) {
                if (!std::binary_search(available.begin(), available.end(), core)) {
                    missing.push_back(
                        {config.file, range.line, range.column,
                         fmt::format("found core {}, which is not there for this process; "
                                     "expected cores of {}",
                                     core, core_list_text(available))});
                    break;  // one message a word
                }
            }
        }
    }
    return missing;
}

std::vector<Diagnostic> missing_cores(const config::Config& config) {
    if (config.cpu_affinity.ranges.empty() && config.worker_cpu_affinity.ranges.empty()) {
        return {};
    }
    return missing_cores(config, available_cores());
}

Error run_on_cores(const CoreNumbers& cores) {
    if (cores.empty()) {
        return {};
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    for (uint16_t core : cores) {
        CPU_SET(core, &set);
    }
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        return Error::from_errno(errno, fmt::format("run on cores {}", core_list_text(cores)));
    }
    return {};
}

}  // namespace weir::app
