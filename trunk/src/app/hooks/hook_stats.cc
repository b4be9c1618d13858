#include "app/hooks/hook_stats.h"

#include <algorithm>

#include "net/api/exposition.h"

namespace weir::app {
namespace {

struct Series {
    std::string_view name;
    std::string_view help;
    uint64_t HookCounters::*value;
};

constexpr Series kSeries[] = {
    {"weir_hooks_requests_total", "Requests to hook servers.", &HookCounters::requests},
    {"weir_hooks_allowed_total", "Questions that were allowed.", &HookCounters::allowed},
    {"weir_hooks_refused_total", "Questions that were refused.", &HookCounters::refused},
    {"weir_hooks_failed_total",
     "Requests that failed: no connection, no answer in time, or none that counts.",
     &HookCounters::failed},
    {"weir_hooks_told_total", "Notifications that a server took.", &HookCounters::told},
    {"weir_hooks_retried_total", "Further attempts at a notification.", &HookCounters::retried},
    {"weir_hooks_dropped_total", "Notifications that no server took.", &HookCounters::dropped},
};

template <typename Visit>
void for_each_action(const HookStats& stats, Visit&& visit) {
    for (size_t i = 0; i < net::kHookActions; i++) {
        visit(net::to_string(static_cast<net::HookAction>(i)), stats.by_action[i]);
    }
}

}  // namespace

void HookCounters::note_latency(Micros took) {
    const int64_t ms = std::chrono::duration_cast<Millis>(took).count();
    const auto* bound = std::ranges::find_if(kBoundsMs, [ms](int64_t each) { return ms < each; });
    latency[static_cast<size_t>(bound - kBoundsMs.begin())]++;
    latency_us += static_cast<uint64_t>(std::max<int64_t>(took.count(), 0));
}

void hook_metrics(net::Exposition& text, const HookStats& stats) {
    for (const Series& series : kSeries) {
        text.head(series.name, "counter", series.help);
        for_each_action(stats, [&](std::string_view name, const HookCounters& counters) {
            text.sample(series.name, counters.*series.value, fmt::format("{{hook=\"{}\"}}", name));
        });
    }
    constexpr std::string_view kLatency = "weir_hooks_request_seconds";
    text.head(kLatency, "histogram", "How long requests to hook servers took.");
    for_each_action(stats, [&](std::string_view name, const HookCounters& counters) {
        uint64_t sum = 0;
        for (size_t i = 0; i <= HookCounters::kBoundsMs.size(); i++) {
            sum += counters.latency[i];
            const std::string bound =
                i < HookCounters::kBoundsMs.size()
                    ? fmt::format("{}", static_cast<double>(HookCounters::kBoundsMs[i]) / 1000)
                    : "+Inf";
            text.sample(fmt::format("{}_bucket", kLatency), sum,
                        fmt::format("{{hook=\"{}\",le=\"{}\"}}", name, bound));
        }
        text.sample(fmt::format("{}_sum", kLatency), static_cast<double>(counters.latency_us) / 1e6,
                    fmt::format("{{hook=\"{}\"}}", name));
        text.sample(fmt::format("{}_count", kLatency), sum, fmt::format("{{hook=\"{}\"}}", name));
    });
    text.single("weir_hooks_asking", "gauge", "Clients that wait for the answer of a hook server.",
                stats.asking);
    text.single("weir_hooks_queue_length", "gauge", "Notifications on their way to hook servers.",
                stats.queued);
}

net::Json hooks_json(const HookStats& stats) {
    net::Json json = {{"asking", stats.asking}, {"queued", stats.queued}};
    for_each_action(stats, [&](std::string_view name, const HookCounters& counters) {
        json[std::string(name)] = {{"requests", counters.requests}, {"allowed", counters.allowed},
                                   {"refused", counters.refused},   {"failed", counters.failed},
                                   {"told", counters.told},         {"retried", counters.retried},
                                   {"dropped", counters.dropped}};
    });
    return json;
}

}  // namespace weir::app
