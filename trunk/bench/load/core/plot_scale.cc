#include "bench/load/core/plot_scale.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "bench/load/core/units.h"

namespace weir::load {
namespace {

constexpr double kLargest = 1e15;  // beyond it numbers say nothing in a plot
constexpr int kSteps = 4;          // wished on the vertical axis
constexpr int kTimeSteps = 10;
constexpr double kLowestLog = 1e-3;

struct Multiple {
    double factor;
    const char* name;
};

// The multiple of the unit in which `highest` is a handy number.
Multiple multiple_of(PlotUnit unit, double highest) {
    static constexpr std::array<Multiple, 4> kRates = {
        {{1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}, {1, "bit/s"}}};
    static constexpr std::array<Multiple, 4> kSizes = {
        {{1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}, {1, "bytes"}}};
    switch (unit) {
        case PlotUnit::kBitRate:
            return *std::find_if(kRates.begin(), kRates.end() - 1,
                                 [&](const Multiple& each) { return highest >= each.factor; });
        case PlotUnit::kBytes:
            return *std::find_if(kSizes.begin(), kSizes.end() - 1,
                                 [&](const Multiple& each) { return highest >= each.factor; });
        case PlotUnit::kMilliseconds:
            return highest >= 10'000 ? Multiple{1000, "s"} : Multiple{1, "ms"};
        case PlotUnit::kPercent: return {1, "%"};
        case PlotUnit::kCount: break;
    }
    return {1, ""};
}

// 1, 2 or 5 times a power of ten, at least `rough`.
double round_step(double rough) {
    double power = std::pow(10, std::floor(std::log10(rough)));
    for (double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= rough * (1 - 1e-9)) {
            return factor * power;
        }
    }
    return 10 * power;
}

std::string number_text(double value, double step) {
    int decimals = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
    return decimals == 0 ? grouped(static_cast<uint64_t>(std::llround(value)))
                         : fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

double PlotScale::place(double value) const {
    double share = logarithmic ? std::log(std::max(value, low) / low) / std::log(high / low)
                               : (value - low) / (high - low);
    return std::clamp(share, 0.0, 1.0);
}

PlotScale linear_scale(PlotUnit unit, double highest) {
    highest = std::clamp(highest, 0.0, kLargest);
    Multiple multiple = multiple_of(unit, highest);
    double top = highest / multiple.factor;
    double step = top > 0 ? round_step(top / kSteps) : 1;
    if (unit == PlotUnit::kCount) {
        step = std::max(step, 1.0);
    }
    int steps = std::max(1, static_cast<int>(std::ceil(top / step - 1e-9)));
    PlotScale scale;
    scale.unit = multiple.name;
    scale.high = steps * step * multiple.factor;
    for (int i = 0; i <= steps; i++) {
        scale.ticks.push_back({i * step * multiple.factor, number_text(i * step, step)});
    }
    return scale;
}

PlotScale log_scale(PlotUnit unit, double lowest, double highest) {
    lowest = std::clamp(lowest, kLowestLog, kLargest);
    highest = std::clamp(highest, lowest, kLargest);
    Multiple multiple = multiple_of(unit, highest);
    double first = std::floor(std::log10(lowest / multiple.factor) + 1e-9);
    double last = std::ceil(std::log10(highest / multiple.factor) - 1e-9);
    last = std::max(last, first + 1);
    PlotScale scale;
    scale.unit = multiple.name;
    scale.logarithmic = true;
    scale.low = std::pow(10, first) * multiple.factor;
    scale.high = std::pow(10, last) * multiple.factor;
    for (double power = first; power <= last; power++) {
        double value = std::pow(10, power);
        scale.ticks.push_back({value * multiple.factor, number_text(value, value)});
    }
    return scale;
}

PlotScale time_scale(double end_s) {
    static constexpr std::array<double, 17> kTimes = {
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400};
    end_s = std::clamp(end_s, 1.0, kLargest);
    const auto* found = std::find_if(kTimes.begin(), kTimes.end(),
                                     [&](double each) { return end_s / each <= kTimeSteps; });
    double step = found != kTimes.end() ? *found : 86400 * round_step(end_s / 86400 / kTimeSteps);
    PlotScale scale;
    scale.high = end_s;
    for (int i = 0; i * step <= end_s; i++) {
        scale.ticks.push_back({i * step, i == 0 ? "0" : time_text(i * step)});
    }
    return scale;
}

std::string plot_value(PlotUnit unit, double value) {
    value = std::clamp(value, 0.0, kLargest);
    Multiple multiple = multiple_of(unit, value);
    double shown = value / multiple.factor;
    switch (unit) {
        case PlotUnit::kCount: return grouped(static_cast<uint64_t>(std::llround(shown)));
        case PlotUnit::kPercent: return fmt::format("{:.1f} %", shown);
        case PlotUnit::kMilliseconds:
            return fmt::format("{:.{}f} {}", shown, shown < 100 ? 2 : 0, multiple.name);
        case PlotUnit::kBitRate:
        case PlotUnit::kBytes: break;
    }
    return fmt::format("{:.{}f} {}", shown, shown < 10 ? 2 : shown < 100 ? 1 : 0, multiple.name);
}

std::string time_text(double time_s) {
    time_s = std::clamp(time_s, 0.0, kLargest);
    if (time_s < 60) {
        bool whole = std::abs(time_s - std::round(time_s)) < 0.05;
        return fmt::format("{:.{}f} s", time_s, whole ? 0 : 1);
    }
    auto all = static_cast<uint64_t>(std::llround(time_s));
    uint64_t hours = all / 3600;
    uint64_t minutes = all / 60 % 60;
    uint64_t seconds = all % 60;
    if (hours == 0) {
        return seconds == 0 ? fmt::format("{} min", minutes)
                            : fmt::format("{}:{:02} min", minutes, seconds);
    }
    if (seconds == 0) {
        return minutes == 0 ? fmt::format("{} h", hours)
                            : fmt::format("{}:{:02} h", hours, minutes);
    }
    return fmt::format("{}:{:02}:{:02} h", hours, minutes, seconds);
}

}  // namespace weir::load
