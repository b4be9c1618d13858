#include "bench/load/core/time_series.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/load/core/report.h"

namespace weir::load {
namespace {

double mean(double a, double weight_a, double b, double weight_b) {
    double weight = weight_a + weight_b;
    return weight > 0 ? (a * weight_a + b * weight_b) / weight : a;
}

LatencySample merged_latency(const LatencySample& a, const LatencySample& b) {
    if (a.count == 0 || b.count == 0) {
        return a.count == 0 ? b : a;
    }
    LatencySample out;
    out.count = a.count + b.count;
    out.p50_ms =
        mean(a.p50_ms, static_cast<double>(a.count), b.p50_ms, static_cast<double>(b.count));
    out.p95_ms = std::max(a.p95_ms, b.p95_ms);
    out.p99_ms = std::max(a.p99_ms, b.p99_ms);
    out.max_ms = std::max(a.max_ms, b.max_ms);
    return out;
}

bool is_finite(const TimeSample& s) {
    return std::isfinite(s.time_s) && std::isfinite(s.span_s) && s.span_s > 0 &&
           std::isfinite(s.received_bps) && std::isfinite(s.expected_bps) &&
           std::isfinite(s.latency.p50_ms) && std::isfinite(s.latency.p95_ms) &&
           std::isfinite(s.latency.p99_ms) && std::isfinite(s.latency.max_ms) &&
           std::isfinite(s.server_cpu_percent.value_or(0)) && std::isfinite(s.client_cpu_percent);
}

std::string or_null(bool known, double value, int decimals) {
    return known ? fmt::format("{:.{}f}", value, decimals) : "null";
}

constexpr std::string_view kColumns =
    R"(["time_s", "span_s", "connected", "playing", "received_bps", "expected_bps", )"
    R"("latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_max_ms", "lost", "stalls", )"
    R"("server_cpu_percent", "server_memory_bytes", "client_cpu_percent", "client_memory_bytes"])";

std::string json_row(const TimeSample& s) {
    bool delays = s.latency.count > 0;
    std::string memory =
        s.server_memory_bytes ? std::to_string(*s.server_memory_bytes) : std::string("null");
    return fmt::format(
        "[{:.3f}, {:.3f}, {}, {}, {:.0f}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {:.1f}, {}]",
        s.time_s, s.span_s, s.connected, s.playing, s.received_bps,
        or_null(s.expected_bps > 0, s.expected_bps, 0), or_null(delays, s.latency.p50_ms, 3),
        or_null(delays, s.latency.p95_ms, 3), or_null(delays, s.latency.p99_ms, 3),
        or_null(delays, s.latency.max_ms, 3), s.lost, s.stalls,
        or_null(s.server_cpu_percent.has_value(), s.server_cpu_percent.value_or(0), 1), memory,
        s.client_cpu_percent, s.client_memory_bytes);
}

}  // namespace

LatencySample LatencySample::of(const Histogram& microseconds) {
    auto ms = [](uint64_t us) { return static_cast<double>(us) / 1000.0; };
    return {microseconds.count(), ms(microseconds.quantile(0.5)), ms(microseconds.quantile(0.95)),
            ms(microseconds.quantile(0.99)), ms(microseconds.max())};
}

void merge_into(TimeSample& sample, const TimeSample& later) {
    double before = sample.span_s;
    double after = later.span_s;
    sample.time_s = later.time_s;
    sample.span_s = before + after;
    sample.connected = later.connected;
    sample.playing = later.playing;
    sample.received_bps = mean(sample.received_bps, before, later.received_bps, after);
    sample.expected_bps = mean(sample.expected_bps, before, later.expected_bps, after);
    sample.latency = merged_latency(sample.latency, later.latency);
    sample.lost += later.lost;
    sample.stalls += later.stalls;
    if (sample.server_cpu_percent && later.server_cpu_percent) {
        sample.server_cpu_percent =
            mean(*sample.server_cpu_percent, before, *later.server_cpu_percent, after);
    } else if (later.server_cpu_percent) {
        sample.server_cpu_percent = later.server_cpu_percent;
    }
    if (later.server_memory_bytes) {
        sample.server_memory_bytes =
            std::max(sample.server_memory_bytes.value_or(0), *later.server_memory_bytes);
    }
    sample.client_cpu_percent =
        mean(sample.client_cpu_percent, before, later.client_cpu_percent, after);
    sample.client_memory_bytes = std::max(sample.client_memory_bytes, later.client_memory_bytes);
}

TimeSeries::TimeSeries(size_t max_samples) : max_samples_(std::max<size_t>(max_samples, 2)) {}

void TimeSeries::add(const TimeSample& sample) {
    if (!is_finite(sample)) {
        return;
    }
    if (!samples_.empty() && in_last_ < merged_) {
        merge_into(samples_.back(), sample);
        in_last_++;
        return;
    }
    if (samples_.size() >= max_samples_) {
        halve();
        add(sample);
        return;
    }
    samples_.push_back(sample);
    in_last_ = 1;
}

// All samples are full here. An odd one at the end becomes the first half of the next.
void TimeSeries::halve() {
    size_t count = samples_.size();
    for (size_t i = 0; i + 1 < count; i += 2) {
        merge_into(samples_[i], samples_[i + 1]);
        samples_[i / 2] = samples_[i];
    }
    if (count % 2 == 1) {
        samples_[count / 2] = samples_[count - 1];
    }
    samples_.resize((count + 1) / 2);
    in_last_ = count % 2 == 1 ? merged_ : merged_ * 2;
    merged_ *= 2;
}

void TimeSeries::mark(double time_s, std::string_view name) {
    if (std::isfinite(time_s) && marks_.size() < kMaxMarks) {
        marks_.push_back({time_s, std::string(name)});
    }
}

std::string TimeSeries::to_json(std::string_view indent) const {
    std::string out = fmt::format("{{\n{}  \"phases\": [", indent);
    for (size_t i = 0; i < marks_.size(); i++) {
        out += fmt::format("{}{{\"time_s\": {:.3f}, \"name\": {}}}", i == 0 ? "" : ", ",
                           marks_[i].time_s, json_string(marks_[i].name));
    }
    out += fmt::format("],\n{}  \"columns\": {},\n{}  \"samples\": [", indent, kColumns, indent);
    for (size_t i = 0; i < samples_.size(); i++) {
        out += fmt::format("{}\n{}    {}", i == 0 ? "" : ",", indent, json_row(samples_[i]));
    }
    return out + fmt::format("\n{}  ]\n{}}}", indent, indent);
}

}  // namespace weir::load
