#include "bench/load/core/load_levels.h"

#include <algorithm>
#include <limits>

namespace weir::load {
namespace {

constexpr double kAll = 0.98;  // of a phase's clients: one that broke does not take its figures

// The samples that lie within a phase as a whole.
std::vector<TimeSample> within(const TimeSeries& series, double begin_s, double end_s) {
    std::vector<TimeSample> found;
    for (const TimeSample& each : series.samples()) {
        if (each.time_s - each.span_s >= begin_s && each.time_s <= end_s) {
            found.push_back(each);
        }
    }
    return found;
}

LoadLevel level_of(std::vector<TimeSample> samples) {
    LoadLevel level;
    for (const TimeSample& each : samples) {
        level.clients = std::max(level.clients, each.playing);
    }
    const double all = kAll * static_cast<double>(level.clients);
    std::erase_if(
        samples, [all](const TimeSample& each) { return static_cast<double>(each.playing) < all; });
    if (samples.empty()) {
        return level;
    }
    TimeSample sum = samples.front();
    for (size_t i = 1; i < samples.size(); i++) {
        merge_into(sum, samples[i]);
    }
    level.received_bps = sum.received_bps;
    level.server_cpu_percent = sum.server_cpu_percent;
    level.lost_per_s = static_cast<double>(sum.lost) / sum.span_s;
    if (sum.latency.count > 0) {
        level.p99_ms = sum.latency.p99_ms;
    }
    return level;
}

}  // namespace

std::vector<LoadLevel> load_levels(const TimeSeries& series) {
    std::vector<LoadLevel> levels;
    const std::vector<PhaseMark>& marks = series.marks();
    for (size_t i = 0; i < marks.size(); i++) {
        const double end =
            i + 1 < marks.size() ? marks[i + 1].time_s : std::numeric_limits<double>::infinity();
        const LoadLevel level = level_of(within(series, marks[i].time_s, end));
        if (level.clients > (levels.empty() ? 0 : levels.back().clients)) {
            levels.push_back(level);
        }
    }
    return levels;
}

}  // namespace weir::load
