// The figures of a run that conditions may use: one table of names, units and meanings.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bench/load/core/histogram.h"

namespace weir::load {

// What a figure is measured in; in brackets the unit of its value.
enum class Quantity : uint8_t {
    kCount,      // (1)
    kTime,       // (milliseconds)
    kRate,       // (bits per second)
    kRatio,      // (1)
    kPercent,    // of one core (percent)
    kMemory,     // (bytes)
    kPerSecond,  // (1 per second)
};

struct MetricInfo {
    std::string_view name;
    Quantity quantity = Quantity::kCount;
    std::string_view about;
    bool of_server = false;  // needs --server-pid or --server-api
};

std::span<const MetricInfo> metric_table();

// The index in metric_table(); nullopt when there is none of that name.
std::optional<size_t> find_metric(std::string_view name);

// The name that looks most like it.
std::string_view nearest_metric(std::string_view name);

// "ms", "bit/s", "% of a core" ...; empty for a plain number.
std::string_view unit_of(Quantity quantity);

// "12.3 ms", "4.0 Mbit/s", "95.0 %", "17".
std::string metric_text(Quantity quantity, double value);

// The table for people: name, unit, meaning.
std::string metrics_help();

// Values of one window. What is not set is not known: nothing was measured, or no server named.
class MetricValues {
  public:
    static constexpr size_t kMost = 80;

    // The name must be one of the table.
    void set(std::string_view name, double value);

    // Sets NAME.p50, .p95 (where the table has it), .p99 and .max, unless there is no sample.
    void set_times(std::string_view name, const Histogram& microseconds);

    std::optional<double> at(size_t index) const { return values_[index]; }

    std::optional<double> get(std::string_view name) const;

    // {"name": value, ...}; null for what is not known. Each line but the first begins with
    // `indent`.
    std::string to_json(std::string_view indent) const;

  private:
    std::array<std::optional<double>, kMost> values_;
};

}  // namespace weir::load
