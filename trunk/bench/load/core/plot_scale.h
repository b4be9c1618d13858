// Axes of a plot: which range, which ticks, and what they are called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir::load {

enum class PlotUnit : uint8_t { kCount, kBitRate, kMilliseconds, kPercent, kBytes };

struct Tick {
    double value = 0;
    std::string label;
};

struct PlotScale {
    double low = 0;
    double high = 1;
    bool logarithmic = false;  // then low is above 0
    std::string unit;          // of the labels, "Mbit/s"; may be empty
    std::vector<Tick> ticks;   // ascending, within low and high

    // Where the value stands between low and high: 0 to 1, values beyond are clamped.
    double place(double value) const;
};

// From 0 to at least `highest`, in round steps.
PlotScale linear_scale(PlotUnit unit, double highest);

// From a power of ten at or below `lowest` to one at or above `highest`; lowest is above 0.
PlotScale log_scale(PlotUnit unit, double lowest, double highest);

// From 0 to `end_s` exactly (at least 1), with ticks at round times.
PlotScale time_scale(double end_s);

// A value with its unit for people: "1.25 Gbit/s", "12.3 ms", "4.5 MiB".
std::string plot_value(PlotUnit unit, double value);

// "12 s", "3:05 min", "1:02:00 h".
std::string time_text(double time_s);

}  // namespace weir::load
