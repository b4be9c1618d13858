// A run of many phases by the number of clients that each of them held: what a server's CPU, bit
// rate, delay and losses were at each load. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/load/core/time_series.h"

namespace weir::load {

struct LoadLevel {
    uint64_t clients = 0;  // that played
    double received_bps = 0;
    std::optional<double> server_cpu_percent;  // of one core; none: no server process was named
    std::optional<double> p99_ms;              // the worst second's; none: no frame came
    double lost_per_s = 0;                     // frames
};

// One for each phase that held more clients than every phase before it, in that order. Of a phase
// counts the time in which all its clients played.
std::vector<LoadLevel> load_levels(const TimeSeries& series);

}  // namespace weir::load
