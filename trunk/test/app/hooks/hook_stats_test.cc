#include "app/hooks/hook_stats.h"

#include <gtest/gtest.h>

namespace weir::app {
namespace {

using net::HookAction;

TEST(HookStatsTest, LatenciesFallIntoBuckets) {
    HookStats stats;
    HookCounters& play = stats.of(HookAction::kPlay);
    play.requests = 3;
    play.note_latency(Millis(3));
    play.note_latency(Millis(60));
    play.note_latency(Seconds(100));
    net::Exposition exposition;
    hook_metrics(exposition, stats);
    const std::string text = exposition.take();
    for (const char* line : {
             "# TYPE weir_hooks_requests_total counter\n",
             "weir_hooks_requests_total{hook=\"on_play\"} 3\n",
             "weir_hooks_requests_total{hook=\"on_close\"} 0\n",
             "# TYPE weir_hooks_request_seconds histogram\n",
             "weir_hooks_request_seconds_bucket{hook=\"on_play\",le=\"0.005\"} 1\n",
             "weir_hooks_request_seconds_bucket{hook=\"on_play\",le=\"0.1\"} 2\n",
             "weir_hooks_request_seconds_bucket{hook=\"on_play\",le=\"30\"} 2\n",
             "weir_hooks_request_seconds_bucket{hook=\"on_play\",le=\"+Inf\"} 3\n",
             "weir_hooks_request_seconds_count{hook=\"on_play\"} 3\n",
             "weir_hooks_queue_length 0\n",
         }) {
        EXPECT_NE(text.find(line), std::string::npos) << line;
    }
}

TEST(HookStatsTest, TheApiShowsEveryHook) {
    HookStats stats;
    stats.asking = 2;
    stats.of(HookAction::kPublish).refused = 7;
    const net::Json json = hooks_json(stats);
    EXPECT_EQ(json["asking"], 2);
    EXPECT_EQ(json["on_publish"]["refused"], 7);
    EXPECT_EQ(json.size(), 2 + net::kHookActions);
}

}  // namespace
}  // namespace weir::app
