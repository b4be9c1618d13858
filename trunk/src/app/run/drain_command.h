// `weir --drain`: asks a running server on this machine to drain, and waits for its end. For hooks
// that run before a service manager ends it, as preStop of Kubernetes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"
#include "config/directives.h"

namespace weir::app {

// Exit codes, beside 0: the server has ended.
inline constexpr int kDrainUnclear = 1;     // wrong arguments, or no server is named
inline constexpr int kDrainNotRunning = 2;  // the one that is named does not run
inline constexpr int kDrainDenied = 3;      // it belongs to another user
inline constexpr int kDrainGoesOn = 4;      // the time is over, and it still drains

struct DrainRequest {
    std::string config_file;  // whose `pid` names the server
    pid_t pid = 0;            // 0: by the configuration
    // How long to wait; negative: the configuration's drain_timeout and kDrainGrace more.
    Seconds timeout{-1};
};

inline constexpr Seconds kDrainGrace{10};       // for the end itself
inline constexpr Seconds kDrainDefault{3'600};  // where there is no configuration
inline constexpr uint64_t kMaxDrainSeconds = 86'400;

// The words after --drain. kMalformed: what is wrong with them.
Result<DrainRequest> parse_drain(std::span<char* const> words, std::string config_file);

// What /proc/PID/stat says of a process.
struct ProcessStat {
    std::string name;
    char state = '?';
    uint64_t start_ticks = 0;  // since boot: tells a process from another one with its number
};

// kMalformed.
Result<ProcessStat> parse_process(std::string_view stat);

// Blocks, and starts the coroutines of this process: once, and nothing else may run in it. Gives
// the exit code.
int drain(const DrainRequest& request, const config::Environment& environment);

}  // namespace weir::app
