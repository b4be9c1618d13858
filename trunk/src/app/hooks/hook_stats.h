// Counters of the hooks, by action; for /metrics and the API.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "net/api/answer.h"
#include "net/api/exposition.h"
#include "net/hooks.h"

namespace weir::app {

struct HookCounters {
    // Upper bounds of the buckets of the latency of requests.
    static constexpr std::array<int64_t, 8> kBoundsMs{5, 20, 50, 100, 250, 1'000, 5'000, 30'000};

    uint64_t requests = 0;  // that were sent, or could not be
    uint64_t allowed = 0;   // questions
    uint64_t refused = 0;
    uint64_t failed = 0;   // requests without an answer that counts
    uint64_t told = 0;     // notifications that were taken
    uint64_t retried = 0;  // further attempts at a notification
    uint64_t dropped = 0;  // notifications that nobody took: over a limit, or their time was over
    std::array<uint64_t, kBoundsMs.size() + 1> latency{};
    uint64_t latency_us = 0;  // of all requests together

    void note_latency(Micros took);
};

struct HookStats {
    std::array<HookCounters, net::kHookActions> by_action;
    size_t asking = 0;  // clients that wait for an answer
    size_t queued = 0;  // notifications on their way

    HookCounters& of(net::HookAction action) { return by_action[static_cast<size_t>(action)]; }

    const HookCounters& of(net::HookAction action) const {
        return by_action[static_cast<size_t>(action)];
    }
};

// weir_hooks_...{hook="on_play"} and so on, in the format of Prometheus.
void hook_metrics(net::Exposition& text, const HookStats& stats);

// For the summaries of the API.
net::Json hooks_json(const HookStats& stats);

}  // namespace weir::app
