#include "bench/load/core/load_levels.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

// A second of a run.
void second(TimeSeries& series, uint64_t playing, double cpu_percent, uint64_t lost = 0) {
    TimeSample sample;
    sample.time_s = series.end_s() + 1;
    sample.playing = playing;
    sample.received_bps = 1e6 * static_cast<double>(playing);
    sample.server_cpu_percent = cpu_percent;
    sample.lost = lost;
    sample.latency = {playing, 1, 2, 3 + cpu_percent, 4};
    series.add(sample);
}

TEST(LoadLevelsTest, APhaseIsWhatItIsOnceAllItsClientsPlay) {
    TimeSeries series;
    series.mark(0, "ten");
    second(series, 4, 90);  // they join
    second(series, 10, 5);
    second(series, 10, 7, 6);
    series.mark(series.end_s(), "twenty");
    second(series, 12, 80);
    second(series, 20, 10);
    second(series, 20, 14);
    const std::vector<LoadLevel> levels = load_levels(series);
    ASSERT_EQ(levels.size(), 2U);
    EXPECT_EQ(levels[0].clients, 10U);
    EXPECT_DOUBLE_EQ(levels[0].server_cpu_percent.value(), 6);
    EXPECT_DOUBLE_EQ(levels[0].received_bps, 10e6);
    EXPECT_DOUBLE_EQ(levels[0].lost_per_s, 3);
    EXPECT_DOUBLE_EQ(levels[0].p99_ms.value(), 10) << "the worse second's";
    EXPECT_EQ(levels[1].clients, 20U);
    EXPECT_DOUBLE_EQ(levels[1].server_cpu_percent.value(), 12);
    EXPECT_DOUBLE_EQ(levels[1].lost_per_s, 0);
}

TEST(LoadLevelsTest, PhasesThatHoldNoMoreThanBeforeAreNoLevels) {
    TimeSeries series;
    for (const uint64_t clients : {10, 5, 10, 30}) {
        series.mark(series.end_s(), "phase");
        second(series, clients, 1);
    }
    const std::vector<LoadLevel> levels = load_levels(series);
    ASSERT_EQ(levels.size(), 2U);
    EXPECT_EQ(levels[0].clients, 10U);
    EXPECT_EQ(levels[1].clients, 30U);
}

TEST(LoadLevelsTest, NothingWithoutPhasesOrClients) {
    TimeSeries series;
    EXPECT_TRUE(load_levels(series).empty());
    second(series, 10, 1);
    EXPECT_TRUE(load_levels(series).empty()) << "no phase has a name";
    series.mark(series.end_s(), "nobody");
    second(series, 0, 1);
    EXPECT_TRUE(load_levels(series).empty());
}

}  // namespace
}  // namespace weir::load
