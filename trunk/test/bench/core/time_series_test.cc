#include "bench/load/core/time_series.h"

#include <cmath>

#include <gtest/gtest.h>

namespace weir::load {
namespace {

TimeSample sample_at(double time_s) {
    TimeSample sample;
    sample.time_s = time_s;
    sample.connected = static_cast<uint64_t>(time_s);
    sample.received_bps = 100 * time_s;
    sample.lost = 1;
    return sample;
}

TEST(TimeSeriesTest, KeepsEachSampleWhileThereIsRoom) {
    TimeSeries series(8);
    EXPECT_TRUE(series.empty());
    EXPECT_EQ(series.end_s(), 0);
    for (int i = 1; i <= 8; i++) {
        series.add(sample_at(i));
    }
    ASSERT_EQ(series.samples().size(), 8U);
    EXPECT_EQ(series.merged(), 1U);
    EXPECT_EQ(series.samples()[2].received_bps, 300);
    EXPECT_EQ(series.end_s(), 8);
}

TEST(TimeSeriesTest, MergesNeighboursWhenItIsFull) {
    TimeSeries series(4);
    for (int i = 1; i <= 5; i++) {
        series.add(sample_at(i));
    }
    ASSERT_EQ(series.samples().size(), 3U);
    EXPECT_EQ(series.merged(), 2U);
    const TimeSample& first = series.samples()[0];
    EXPECT_EQ(first.time_s, 2);
    EXPECT_EQ(first.span_s, 2);
    EXPECT_EQ(first.connected, 2U);
    EXPECT_EQ(first.received_bps, 150);
    EXPECT_EQ(first.lost, 2U);
    EXPECT_EQ(series.samples()[2].span_s, 1) << "the last one is not full yet";
    series.add(sample_at(6));
    ASSERT_EQ(series.samples().size(), 3U);
    EXPECT_EQ(series.samples()[2].span_s, 2);
}

class TimeSeriesLimitTest : public testing::TestWithParam<size_t> {};

TEST_P(TimeSeriesLimitTest, StaysWithinItsLimitAndLosesNothing) {
    const size_t limit = GetParam();
    TimeSeries series(limit);
    for (int i = 1; i <= 10'000; i++) {
        series.add(sample_at(i));
        ASSERT_LE(series.samples().size(), limit);
    }
    uint64_t lost = 0;
    double end = 0;
    for (const TimeSample& each : series.samples()) {
        EXPECT_DOUBLE_EQ(each.time_s - each.span_s, end) << "no gap, no overlap";
        end = each.time_s;
        lost += each.lost;
    }
    EXPECT_EQ(end, 10'000);
    EXPECT_EQ(lost, 10'000U);
    for (size_t i = 0; i + 1 < series.samples().size(); i++) {
        EXPECT_EQ(series.samples()[i].span_s, static_cast<double>(series.merged()));
    }
}

INSTANTIATE_TEST_SUITE_P(OddAndEven, TimeSeriesLimitTest, testing::Values(2, 3, 7, 64, 100, 3600));

TEST(TimeSeriesTest, ALimitBelowTwoIsTwo) {
    TimeSeries series(0);
    for (int i = 1; i <= 100; i++) {
        series.add(sample_at(i));
        ASSERT_LE(series.samples().size(), 2U);
    }
    EXPECT_EQ(series.end_s(), 100);
}

TEST(TimeSeriesTest, MergedDelaysAreTheMeanMedianAndTheWorstOfTheRest) {
    TimeSample a;
    a.latency = {30, 10, 20, 30, 40};
    TimeSample b;
    b.latency = {10, 50, 15, 60, 35};
    merge_into(a, b);
    EXPECT_EQ(a.latency.count, 40U);
    EXPECT_DOUBLE_EQ(a.latency.p50_ms, 20);
    EXPECT_DOUBLE_EQ(a.latency.p95_ms, 20);
    EXPECT_DOUBLE_EQ(a.latency.p99_ms, 60);
    EXPECT_DOUBLE_EQ(a.latency.max_ms, 40);
}

TEST(TimeSeriesTest, ASampleWithoutFramesDoesNotChangeMergedDelays) {
    TimeSample a;
    TimeSample b;
    b.latency = {10, 50, 55, 60, 65};
    TimeSample both = a;
    merge_into(both, b);
    EXPECT_EQ(both.latency.p50_ms, 50);
    merge_into(both, a);
    EXPECT_EQ(both.latency.p50_ms, 50);
    EXPECT_EQ(both.latency.count, 10U);
}

TEST(TimeSeriesTest, MergedUsageIsTheMeanOfCpuAndTheMostMemory) {
    TimeSample a;
    a.span_s = 3;
    a.server_cpu_percent = 10;
    a.server_memory_bytes = 500;
    a.client_cpu_percent = 20;
    a.client_memory_bytes = 100;
    TimeSample b;
    b.server_cpu_percent = 50;
    b.server_memory_bytes = 400;
    b.client_cpu_percent = 60;
    b.client_memory_bytes = 200;
    merge_into(a, b);
    EXPECT_DOUBLE_EQ(a.server_cpu_percent.value_or(0), 20);
    EXPECT_EQ(a.server_memory_bytes.value_or(0), 500U);
    EXPECT_DOUBLE_EQ(a.client_cpu_percent, 30);
    EXPECT_EQ(a.client_memory_bytes, 200U);
    EXPECT_EQ(a.span_s, 4);
}

TEST(TimeSeriesTest, WhatOnlyOneSampleKnowsOfTheServerStays) {
    TimeSample known;
    known.server_cpu_percent = 10;
    known.server_memory_bytes = 500;
    TimeSample first = known;
    merge_into(first, TimeSample());
    EXPECT_EQ(first.server_cpu_percent, 10);
    TimeSample second;
    merge_into(second, known);
    EXPECT_EQ(second.server_cpu_percent, 10);
    EXPECT_EQ(second.server_memory_bytes, 500U);
}

TEST(TimeSeriesTest, DoesNotTakeNumbersThatAreNone) {
    TimeSeries series;
    for (double wrong : {std::nan(""), double{INFINITY}, double{-INFINITY}}) {
        TimeSample sample = sample_at(1);
        sample.received_bps = wrong;
        series.add(sample);
        sample = sample_at(wrong);
        series.add(sample);
        sample = sample_at(1);
        sample.server_cpu_percent = wrong;
        series.add(sample);
        series.mark(wrong, "x");
    }
    TimeSample empty = sample_at(1);
    empty.span_s = 0;
    series.add(empty);
    EXPECT_TRUE(series.empty());
    EXPECT_TRUE(series.marks().empty());
}

TEST(TimeSeriesTest, KeepsALimitedNumberOfMarks) {
    TimeSeries series;
    for (size_t i = 0; i < 2 * TimeSeries::kMaxMarks; i++) {
        series.mark(static_cast<double>(i), "phase");
    }
    EXPECT_EQ(series.marks().size(), TimeSeries::kMaxMarks);
}

TEST(TimeSeriesTest, ALatencySampleIsInMilliseconds) {
    Histogram delays;
    delays.add(2'000);
    LatencySample sample = LatencySample::of(delays);
    EXPECT_EQ(sample.count, 1U);
    EXPECT_DOUBLE_EQ(sample.p50_ms, 2);
    EXPECT_DOUBLE_EQ(sample.max_ms, 2);
    EXPECT_EQ(LatencySample::of(Histogram()).count, 0U);
}

TEST(TimeSeriesTest, JsonHasARowForEachSampleAndNullForTheUnknown) {
    TimeSeries series;
    series.mark(0, "ramp \"up\"");
    series.mark(1.5, "hold");
    TimeSample sample = sample_at(1);
    series.add(sample);
    sample = sample_at(2);
    sample.playing = 2;
    sample.expected_bps = 250;
    sample.latency = {3, 1, 2, 3, 4};
    sample.server_cpu_percent = 12.25;
    sample.server_memory_bytes = 4096;
    sample.client_memory_bytes = 8192;
    series.add(sample);
    EXPECT_EQ(series.to_json("  "), R"({
    "phases": [{"time_s": 0.000, "name": "ramp \"up\""}, {"time_s": 1.500, "name": "hold"}],
    "columns": ["time_s", "span_s", "connected", "playing", "received_bps", "expected_bps", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_max_ms", "lost", "stalls", "server_cpu_percent", "server_memory_bytes", "client_cpu_percent", "client_memory_bytes"],
    "samples": [
      [1.000, 1.000, 1, 0, 100, null, null, null, null, null, 1, 0, null, null, 0.0, 0],
      [2.000, 1.000, 2, 2, 200, 250, 1.000, 2.000, 3.000, 4.000, 1, 0, 12.2, 4096, 0.0, 8192]
    ]
  })");
}

TEST(TimeSeriesTest, JsonOfAnEmptySeriesIsValid) {
    std::string json = TimeSeries().to_json();
    EXPECT_NE(json.find("\"phases\": []"), std::string::npos);
    EXPECT_NE(json.find("\"samples\": [\n  ]\n}"), std::string::npos);
}

}  // namespace
}  // namespace weir::load
