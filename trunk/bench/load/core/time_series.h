// What a run looked like over time: a sample a second, and the names of the phases it went through.
// Bounded: when there are too many samples, neighbours are merged and each one covers twice as
// long. Pure: whoever runs the test adds a sample when a second has passed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/core/histogram.h"

namespace weir::load {

// Delays of the frames of one sample, milliseconds.
struct LatencySample {
    uint64_t count = 0;  // frames; 0: there was none, and the rest says nothing
    double p50_ms = 0;
    double p95_ms = 0;
    double p99_ms = 0;
    double max_ms = 0;

    static LatencySample of(const Histogram& microseconds);
};

struct TimeSample {
    double time_s = 0;  // end of what it covers, from the beginning of the run
    double span_s = 1;  // how long it covers; above 0
    uint64_t connected = 0;
    uint64_t playing = 0;  // of them, with media
    double received_bps = 0;
    double expected_bps = 0;  // 0: not known
    LatencySample latency;
    uint64_t lost = 0;                         // frames, in this sample alone
    uint64_t stalls = 0;                       // in this sample alone
    std::optional<double> server_cpu_percent;  // of one core; none: no server process was named
    std::optional<uint64_t> server_memory_bytes;
    double client_cpu_percent = 0;  // of one core
    uint64_t client_memory_bytes = 0;
};

// `later` joins `sample`, which ends before it: counts of clients are those of the later one, rates
// and CPU the mean over time, memory and maxima the greater, lost and stalls the sum. Of delays,
// p50 is the mean by frames; p95 and p99, which cannot be merged, are the greater ones.
void merge_into(TimeSample& sample, const TimeSample& later);

struct PhaseMark {
    double time_s = 0;  // its beginning
    std::string name;
};

class TimeSeries {
  public:
    static constexpr size_t kMaxSamples = 3600;
    static constexpr size_t kMaxMarks = 100;

    // `max_samples`: at least 2 are kept.
    explicit TimeSeries(size_t max_samples = kMaxSamples);

    // Samples come in the order of time. A sample whose numbers are not finite is not taken.
    void add(const TimeSample& sample);

    // A phase begins; marks beyond kMaxMarks are not kept.
    void mark(double time_s, std::string_view name);

    const std::vector<TimeSample>& samples() const { return samples_; }

    const std::vector<PhaseMark>& marks() const { return marks_; }

    bool empty() const { return samples_.empty(); }

    // How many added samples one of samples() stands for: 1, 2, 4 ... The last may hold fewer.
    size_t merged() const { return merged_; }

    // The end of the last sample, or 0.
    double end_s() const { return samples_.empty() ? 0 : samples_.back().time_s; }

    // {"phases": [{"time_s", "name"}], "columns": [...], "samples": [[...], ...]}: a row per
    // sample, null for what is not known. Each line begins with `indent`, except the first.
    std::string to_json(std::string_view indent = "") const;

  private:
    void halve();

    size_t max_samples_;
    size_t merged_ = 1;
    size_t in_last_ = 0;  // added samples in the last one
    std::vector<TimeSample> samples_;
    std::vector<PhaseMark> marks_;
};

}  // namespace weir::load
