#include "bench/load/core/metrics.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/strings.h"

#include "bench/load/core/units.h"

namespace weir::load {
namespace {

using enum Quantity;

constexpr auto kMetrics = std::to_array<MetricInfo>({
    {"clients.wanted", kCount, "players that were asked for"},
    {"clients.connected", kCount, "players whose connection was made"},
    {"clients.refused", kCount, "players whose connection was not made"},
    {"clients.broken", kCount, "players whose connection was ended by the server or by a fault"},
    {"clients.left", kCount, "players that left after their stay"},
    {"clients.playing", kCount, "players connected and with media at the end of the window"},
    {"publishers.failed", kCount, "publishers of this process that were refused or ended"},
    {"publishers.lag.p50", kTime,
     "how late frames were made: this process, or the server's taking"},
    {"publishers.lag.p99", kTime,
     "how late frames were made: this process, or the server's taking"},
    {"publishers.lag.max", kTime,
     "how late frames were made: this process, or the server's taking"},
    {"loss", kCount, "frames that never came"},
    {"duplicated", kCount, "frames that came twice"},
    {"reordered", kCount, "frames that came after a later one"},
    {"corrupted", kCount, "frames whose bytes are not as sent"},
    {"stalls", kCount, "gaps of more than --stall between frames of a player"},
    {"gap.max", kTime, "longest gap between frames of a player, from its first frame on"},
    {"behind", kCount, "players whose delay grew by more than --behind, or that dried up"},
    {"drift", kTime, "greatest growth of a player's mean delay, first to last quarter"},
    {"latency.p50", kTime, "end-to-end delay of frames"},
    {"latency.p95", kTime, "end-to-end delay of frames"},
    {"latency.p99", kTime, "end-to-end delay of frames"},
    {"latency.max", kTime, "end-to-end delay of frames"},
    {"latency.video.p50", kTime, "end-to-end delay of video frames"},
    {"latency.video.p95", kTime, "end-to-end delay of video frames"},
    {"latency.video.p99", kTime, "end-to-end delay of video frames"},
    {"latency.video.max", kTime, "end-to-end delay of video frames"},
    {"latency.audio.p50", kTime, "end-to-end delay of audio frames"},
    {"latency.audio.p95", kTime, "end-to-end delay of audio frames"},
    {"latency.audio.p99", kTime, "end-to-end delay of audio frames"},
    {"latency.audio.max", kTime, "end-to-end delay of audio frames"},
    {"jitter.mean", kTime, "smoothed variation of a player's frame delays, mean over players"},
    {"jitter.max", kTime, "the greatest of a player's"},
    {"packets.lost", kCount, "WebRTC, RTSP, SIP: packets that never came"},
    {"packets.loss", kRatio, "WebRTC, RTSP, SIP: the same, as a share of all packets"},
    {"packets.loss_before", kRatio, "WebRTC: share of packets that did not come the first time"},
    {"packets.rate", kPerSecond, "WebRTC, RTSP: media packets that all players received"},
    {"freezes", kCount, "WebRTC: pictures that stood still, as webrtc-stats counts them"},
    {"requests", kPerSecond, "HLS: requests per second, of all players"},
    {"viewers.stalls", kCount, "HLS: a viewer had played all that it had"},
    {"viewers.behind.p50", kTime, "HLS: how old what viewers see is"},
    {"viewers.behind.p99", kTime, "HLS: how old what viewers see is"},
    {"viewers.behind.max", kTime, "HLS: how old what viewers see is"},
    {"response.p50", kTime, "RTSP: from the PLAY request to the first packet"},
    {"response.p99", kTime, "RTSP: from the PLAY request to the first packet"},
    {"response.max", kTime, "RTSP: from the PLAY request to the first packet"},
    {"rtt.p50", kTime, "WebRTC: round trip of ICE checks"},
    {"rtt.p99", kTime, "WebRTC: round trip of ICE checks"},
    {"rtt.max", kTime, "WebRTC: round trip of ICE checks"},
    {"connect.p50", kTime, "from the start of connecting to the connection"},
    {"connect.p99", kTime, "from the start of connecting to the connection"},
    {"connect.max", kTime, "from the start of connecting to the connection"},
    {"dial.p50", kTime, "SIP: from INVITE to the first sign of the other end"},
    {"dial.p99", kTime, "SIP: from INVITE to the first sign of the other end"},
    {"dial.max", kTime, "SIP: from INVITE to the first sign of the other end"},
    {"tones.judged", kCount, "SIP: seconds of tone that were judged"},
    {"tones.wrong", kCount, "SIP: of them without the tone"},
    {"first_byte.p50", kTime, "from the play request to the first media"},
    {"first_byte.p99", kTime, "from the play request to the first media"},
    {"first_byte.max", kTime, "from the play request to the first media"},
    {"first_key.p50", kTime, "from the play request to the first whole key frame"},
    {"first_key.p99", kTime, "from the play request to the first whole key frame"},
    {"first_key.max", kTime, "from the play request to the first whole key frame"},
    {"rate", kRate, "received by all players, protocol included"},
    {"rate.expected", kRate, "what the playing ones should receive: the rate of their streams"},
    {"rate.ratio", kRatio, "rate / rate.expected"},
    {"server.cpu", kPercent, "CPU of the server, all threads", true},
    {"server.memory", kMemory, "user memory of the server (its API: resident)", true},
    {"server.rss", kMemory, "resident memory of the server", true},
    {"server.switches", kPerSecond, "context switches of the server; not by its API", true},
    {"client.cpu", kPercent, "CPU of this process"},
    {"client.memory", kMemory, "resident memory of this process"},
    {"client.switches", kPerSecond, "context switches of this process"},
});

static_assert(kMetrics.size() <= MetricValues::kMost);

std::string memory_text(double bytes) {
    constexpr double kKib = 1024;
    constexpr double kMib = 1024 * kKib;
    return bytes >= kMib ? fmt::format("{:.1f} MiB", bytes / kMib)
                         : fmt::format("{:.0f} KiB", bytes / kKib);
}

}  // namespace

std::span<const MetricInfo> metric_table() {
    return kMetrics;
}

std::optional<size_t> find_metric(std::string_view name) {
    for (size_t i = 0; i < kMetrics.size(); i++) {
        if (kMetrics[i].name == name) {
            return i;
        }
    }
    return std::nullopt;
}

std::string_view nearest_metric(std::string_view name) {
    return std::min_element(kMetrics.begin(), kMetrics.end(),
                            [&](const MetricInfo& a, const MetricInfo& b) {
                                return edit_distance(a.name, name) < edit_distance(b.name, name);
                            })
        ->name;
}

std::string_view unit_of(Quantity quantity) {
    switch (quantity) {
        case kCount:
        case kRatio: return "";
        case kTime: return "ms";
        case kRate: return "bit/s";
        case kPercent: return "% of a core";
        case kMemory: return "bytes";
        case kPerSecond: return "per second";
    }
    return "";
}

std::string metric_text(Quantity quantity, double value) {
    switch (quantity) {
        case kCount: return fmt::format("{:.0f}", value);
        case kRatio: return fmt::format("{:.3f}", value);
        case kTime: return fmt::format("{:.1f} ms", value);
        case kRate: return bit_rate_text(value);
        case kPercent: return fmt::format("{:.1f} %", value);
        case kMemory: return memory_text(value);
        case kPerSecond: return fmt::format("{:.0f} per second", value);
    }
    return {};
}

std::string metrics_help() {
    std::string out;
    for (const MetricInfo& each : kMetrics) {
        out += fmt::format("  {:<18} {:<12} {}\n", each.name, unit_of(each.quantity), each.about);
    }
    return out;
}

void MetricValues::set(std::string_view name, double value) {
    auto index = find_metric(name);
    WEIR_CHECK(index.has_value());
    values_[*index] = value;
}

void MetricValues::set_times(std::string_view name, const Histogram& microseconds) {
    if (microseconds.count() == 0) {
        return;
    }
    auto put = [&](std::string_view part, uint64_t us) {
        if (auto index = find_metric(fmt::format("{}.{}", name, part))) {
            values_[*index] = static_cast<double>(us) / 1000;
        }
    };
    put("p50", microseconds.quantile(0.5));
    put("p95", microseconds.quantile(0.95));
    put("p99", microseconds.quantile(0.99));
    put("max", microseconds.max());
}

std::optional<double> MetricValues::get(std::string_view name) const {
    auto index = find_metric(name);
    return index ? values_[*index] : std::nullopt;
}

std::string MetricValues::to_json(std::string_view indent) const {
    std::string out = "{";
    std::string_view separator = "\n";
    for (size_t i = 0; i < kMetrics.size(); i++) {
        out += fmt::format("{}{}  \"{}\": {}", separator, indent, kMetrics[i].name,
                           values_[i] ? fmt::format("{:.10g}", *values_[i]) : "null");
        separator = ",\n";
    }
    return out + fmt::format("\n{}}}", indent);
}

}  // namespace weir::load
