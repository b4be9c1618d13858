#include "bench/load/core/plot_scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::load {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels(const PlotScale& scale) {
    std::vector<std::string> out;
    for (const Tick& tick : scale.ticks) {
        out.push_back(tick.label);
    }
    return out;
}

TEST(PlotScaleTest, CountsHaveWholeSteps) {
    EXPECT_THAT(labels(linear_scale(PlotUnit::kCount, 5000)),
                ElementsAre("0", "2,000", "4,000", "6,000"));
    EXPECT_THAT(labels(linear_scale(PlotUnit::kCount, 4000)),
                ElementsAre("0", "1,000", "2,000", "3,000", "4,000"));
    EXPECT_THAT(labels(linear_scale(PlotUnit::kCount, 1)), ElementsAre("0", "1"));
    EXPECT_THAT(labels(linear_scale(PlotUnit::kCount, 0)), ElementsAre("0", "1"));
}

TEST(PlotScaleTest, BitRatesAndSizesChooseTheirUnit) {
    PlotScale scale = linear_scale(PlotUnit::kBitRate, 2.5e9);
    EXPECT_EQ(scale.unit, "Gbit/s");
    EXPECT_THAT(labels(scale), ElementsAre("0", "1", "2", "3"));
    EXPECT_DOUBLE_EQ(scale.ticks[2].value, 2e9);
    scale = linear_scale(PlotUnit::kBitRate, 400e3);
    EXPECT_EQ(scale.unit, "kbit/s");
    EXPECT_THAT(labels(scale), ElementsAre("0", "100", "200", "300", "400"));
    scale = linear_scale(PlotUnit::kBytes, 3.0 * 1024 * 1024);
    EXPECT_EQ(scale.unit, "MiB");
    EXPECT_THAT(labels(scale), ElementsAre("0", "1", "2", "3"));
    EXPECT_EQ(linear_scale(PlotUnit::kBitRate, 0).unit, "bit/s");
}

TEST(PlotScaleTest, SmallStepsHaveDecimals) {
    EXPECT_THAT(labels(linear_scale(PlotUnit::kMilliseconds, 0.16)),
                ElementsAre("0.00", "0.05", "0.10", "0.15", "0.20"));
    EXPECT_THAT(labels(linear_scale(PlotUnit::kPercent, 2)),
                ElementsAre("0.0", "0.5", "1.0", "1.5", "2.0"));
}

TEST(PlotScaleTest, LongDelaysAreInSeconds) {
    EXPECT_EQ(linear_scale(PlotUnit::kMilliseconds, 9'000).unit, "ms");
    PlotScale scale = linear_scale(PlotUnit::kMilliseconds, 20'000);
    EXPECT_EQ(scale.unit, "s");
    EXPECT_THAT(labels(scale), ElementsAre("0", "5", "10", "15", "20"));
}

TEST(PlotScaleTest, TheHighestValueIsAlwaysOnTheScale) {
    for (PlotUnit unit : {PlotUnit::kCount, PlotUnit::kBitRate, PlotUnit::kMilliseconds,
                          PlotUnit::kPercent, PlotUnit::kBytes}) {
        for (double value = 1e-4; value < 1e14; value *= 1.7) {
            PlotScale scale = linear_scale(unit, value);
            EXPECT_GE(scale.high, value * (1 - 1e-6)) << value;
            EXPECT_GE(scale.ticks.size(), 2U) << value;
            EXPECT_LE(scale.ticks.size(), 7U) << value;
            EXPECT_GT(scale.place(value), 0) << value;
        }
    }
}

TEST(PlotScaleTest, ALogarithmicScaleGoesByPowersOfTen) {
    PlotScale scale = log_scale(PlotUnit::kMilliseconds, 0.4, 900);
    EXPECT_THAT(labels(scale), ElementsAre("0.1", "1", "10", "100", "1,000"));
    EXPECT_DOUBLE_EQ(scale.place(0.1), 0);
    EXPECT_DOUBLE_EQ(scale.place(10), 0.5);
    EXPECT_DOUBLE_EQ(scale.place(1000), 1);
    EXPECT_DOUBLE_EQ(scale.place(0), 0) << "what has no logarithm stands at the bottom";
    scale = log_scale(PlotUnit::kMilliseconds, 100, 100);
    EXPECT_GT(scale.high, scale.low);
    scale = log_scale(PlotUnit::kMilliseconds, 30, 90'000);
    EXPECT_EQ(scale.unit, "s");
    EXPECT_THAT(labels(scale), ElementsAre("0.01", "0.1", "1", "10", "100"));
}

TEST(PlotScaleTest, TimesHaveRoundTicksAndEndWhereTheRunDid) {
    PlotScale scale = time_scale(32);
    EXPECT_EQ(scale.high, 32);
    EXPECT_THAT(labels(scale), ElementsAre("0", "5 s", "10 s", "15 s", "20 s", "25 s", "30 s"));
    EXPECT_THAT(labels(time_scale(600)),
                ElementsAre("0", "1 min", "2 min", "3 min", "4 min", "5 min", "6 min", "7 min",
                            "8 min", "9 min", "10 min"));
    EXPECT_THAT(labels(time_scale(10'000)),
                ElementsAre("0", "30 min", "1 h", "1:30 h", "2 h", "2:30 h"));
    EXPECT_EQ(time_scale(0).high, 1);
    EXPECT_LE(time_scale(30.0 * 86400).ticks.size(), 12U);
    EXPECT_LE(time_scale(1e15).ticks.size(), 12U);
}

TEST(PlotScaleTest, PlacesAreClamped) {
    PlotScale scale = linear_scale(PlotUnit::kCount, 10);
    EXPECT_EQ(scale.place(-1), 0);
    EXPECT_EQ(scale.place(5), 0.5);
    EXPECT_EQ(scale.place(1000), 1);
}

TEST(PlotScaleTest, ValuesAreShownWithTheirUnit) {
    EXPECT_EQ(plot_value(PlotUnit::kCount, 12'345), "12,345");
    EXPECT_EQ(plot_value(PlotUnit::kBitRate, 1.25e9), "1.25 Gbit/s");
    EXPECT_EQ(plot_value(PlotUnit::kBitRate, 12.5e6), "12.5 Mbit/s");
    EXPECT_EQ(plot_value(PlotUnit::kBitRate, 0), "0.00 bit/s");
    EXPECT_EQ(plot_value(PlotUnit::kMilliseconds, 3.456), "3.46 ms");
    EXPECT_EQ(plot_value(PlotUnit::kMilliseconds, 345.6), "346 ms");
    EXPECT_EQ(plot_value(PlotUnit::kMilliseconds, 12'000), "12.00 s");
    EXPECT_EQ(plot_value(PlotUnit::kPercent, 12.34), "12.3 %");
    EXPECT_EQ(plot_value(PlotUnit::kBytes, 1536), "1.50 KiB");
    EXPECT_EQ(plot_value(PlotUnit::kCount, -5), "0");
}

TEST(PlotScaleTest, TimesAreShownInTheUnitThatFits) {
    EXPECT_EQ(time_text(0), "0 s");
    EXPECT_EQ(time_text(12), "12 s");
    EXPECT_EQ(time_text(1.5), "1.5 s");
    EXPECT_EQ(time_text(60), "1 min");
    EXPECT_EQ(time_text(185), "3:05 min");
    EXPECT_EQ(time_text(3600), "1 h");
    EXPECT_EQ(time_text(5400), "1:30 h");
    EXPECT_EQ(time_text(3725), "1:02:05 h");
}

}  // namespace
}  // namespace weir::load
