#include "bench/load/core/metrics.h"

#include <set>

#include <gtest/gtest.h>

namespace weir::load {
namespace {

TEST(MetricTableTest, NamesAreUniqueAndSaidWhatTheyAre) {
    std::set<std::string_view> names;
    for (const MetricInfo& each : metric_table()) {
        EXPECT_TRUE(names.insert(each.name).second) << each.name;
        EXPECT_FALSE(each.about.empty()) << each.name;
        EXPECT_EQ(each.of_server, each.name.starts_with("server.")) << each.name;
        EXPECT_NE(metrics_help().find(each.name), std::string::npos);
    }
}

TEST(MetricTableTest, FindsANameAndTheOneThatWasMeant) {
    ASSERT_TRUE(find_metric("loss").has_value());
    EXPECT_EQ(metric_table()[*find_metric("loss")].name, "loss");
    EXPECT_FALSE(find_metric("los").has_value());
    EXPECT_EQ(nearest_metric("los"), "loss");
    EXPECT_EQ(nearest_metric("server.cpuu"), "server.cpu");
}

TEST(MetricTextTest, ShowsUnits) {
    EXPECT_EQ(metric_text(Quantity::kCount, 17), "17");
    EXPECT_EQ(metric_text(Quantity::kTime, 12.34), "12.3 ms");
    EXPECT_EQ(metric_text(Quantity::kRate, 4e6), "4.0 Mbit/s");
    EXPECT_EQ(metric_text(Quantity::kRatio, 0.9876), "0.988");
    EXPECT_EQ(metric_text(Quantity::kPercent, 95), "95.0 %");
    EXPECT_EQ(metric_text(Quantity::kMemory, 512.0 * 1024), "512 KiB");
    EXPECT_EQ(metric_text(Quantity::kMemory, 3.0 * 1024 * 1024), "3.0 MiB");
    EXPECT_EQ(metric_text(Quantity::kPerSecond, 41.7), "42 per second");
}

TEST(MetricValuesTest, WhatWasNotSetIsNotKnown) {
    MetricValues values;
    EXPECT_FALSE(values.get("loss").has_value());
    values.set("loss", 3);
    EXPECT_EQ(values.get("loss"), 3.0);
    EXPECT_FALSE(values.get("no.such").has_value());
    std::string json = values.to_json("  ");
    EXPECT_NE(json.find("\"loss\": 3,"), std::string::npos) << json;
    EXPECT_NE(json.find("\"rate\": null,"), std::string::npos) << json;
}

TEST(MetricValuesTest, TimesAreMillisecondsOfAHistogramOfMicroseconds) {
    Histogram histogram;
    MetricValues values;
    values.set_times("latency", histogram);
    EXPECT_FALSE(values.get("latency.p99").has_value()) << "no sample";
    histogram.add(2000);
    values.set_times("latency", histogram);
    values.set_times("connect", histogram);
    EXPECT_EQ(values.get("latency.p50"), 2.0);
    EXPECT_EQ(values.get("latency.p95"), 2.0);
    EXPECT_EQ(values.get("latency.max"), 2.0);
    EXPECT_EQ(values.get("connect.p99"), 2.0);
}

}  // namespace
}  // namespace weir::load
