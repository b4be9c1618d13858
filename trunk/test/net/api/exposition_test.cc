#include "net/api/exposition.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace weir::net {
namespace {

TEST(ExpositionTest, ASeriesIsAHeadAndItsSamples) {
    Exposition out;
    out.head("weir_clients", "gauge", "Clients by kind.");
    out.sample("weir_clients", 3, R"({kind="player"})");
    out.sample("weir_clients", 0.5);
    out.single("weir_up", "gauge", "Whether it runs.", 1);
    EXPECT_EQ(out.take(),
              "# HELP weir_clients Clients by kind.\n"
              "# TYPE weir_clients gauge\n"
              "weir_clients{kind=\"player\"} 3\n"
              "weir_clients 0.5\n"
              "# HELP weir_up Whether it runs.\n"
              "# TYPE weir_up gauge\n"
              "weir_up 1\n");
}

// Prometheus refuses a histogram whose buckets are not cumulative, or whose +Inf is not its count.
TEST(ExpositionTest, BucketsOfAHistogramAreCumulativeAndTheLastIsTheCount) {
    Exposition out;
    constexpr std::array<int, 2> kBoundsMs = {5, 1'000};
    constexpr std::array<uint64_t, 3> kCounts = {1, 2, 4};
    out.histogram("weir_lag_seconds", "Lag.", kBoundsMs, 0.001, kCounts, 9.5);
    EXPECT_EQ(out.take(),
              "# HELP weir_lag_seconds Lag.\n"
              "# TYPE weir_lag_seconds histogram\n"
              "weir_lag_seconds_bucket{le=\"0.005\"} 1\n"
              "weir_lag_seconds_bucket{le=\"1\"} 3\n"
              "weir_lag_seconds_bucket{le=\"+Inf\"} 7\n"
              "weir_lag_seconds_sum 9.5\n"
              "weir_lag_seconds_count 7\n");
}

// A publisher chooses the name of its stream: it may not write lines or labels of its own.
TEST(LabelValueTest, NothingOfAPeerLeavesTheQuotes) {
    EXPECT_EQ(label_value("live/cam 1"), "live/cam 1");
    EXPECT_EQ(label_value("a\"} 1\nup 0"), "a\\\"} 1%0Aup 0");
    EXPECT_EQ(label_value("back\\slash"), "back\\\\slash");
    EXPECT_EQ(label_value(std::string("\x00\x1f\x7f\x80\xff", 5)), "%00%1F%7F%80%FF");
    EXPECT_EQ(label_value("\xc3\xa9"), "%C3%A9");
    EXPECT_EQ(label_value("~ !"), "~ !") << "the ends of plain ASCII";
    EXPECT_EQ(label_value(""), "");
}

TEST(LabelValueTest, NoTwoNamesFallTogether) {
    EXPECT_NE(label_value("%0A"), label_value("\n"));
    EXPECT_EQ(label_value("%0A"), "%250A");
    const std::string common(kMaxLabelBytes, 'a');
    EXPECT_NE(label_value(common + "1"), label_value(common + "2"));
    EXPECT_NE(label_value(common + "1"), label_value(common));
}

TEST(LabelValueTest, OnlyALongerOneThanTheLimitIsCut) {
    const std::string longest(kMaxLabelBytes, 'a');
    EXPECT_EQ(label_value(longest), longest);
    const std::string cut = label_value(longest + "b");
    EXPECT_EQ(cut.size(), kMaxLabelBytes + 17) << "~ and 16 digits";
    EXPECT_EQ(cut.substr(0, kMaxLabelBytes + 1), longest + "~");
    EXPECT_EQ(label_value(longest + "b"), cut) << "the same one each time it is asked";
    EXPECT_EQ(label_value(std::string(kMaxLabelBytes, '\n') + "b").size(), 3 * kMaxLabelBytes + 17)
        << "the largest that there is";
}

}  // namespace
}  // namespace weir::net
