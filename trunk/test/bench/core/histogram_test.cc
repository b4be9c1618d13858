#include "bench/load/core/histogram.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

TEST(HistogramTest, EmptyGivesZeros) {
    Histogram h;
    EXPECT_EQ(h.count(), 0U);
    EXPECT_EQ(h.quantile(0.5), 0U);
    EXPECT_EQ(h.max(), 0U);
    EXPECT_EQ(h.min(), 0U);
    EXPECT_EQ(h.mean(), 0.0);
}

TEST(HistogramTest, SmallValuesAreExact) {
    Histogram h;
    for (uint64_t v = 0; v < 32; v++) {
        h.add(v);
    }
    EXPECT_EQ(h.quantile(0.0), 0U);
    EXPECT_EQ(h.quantile(0.5), 16U);
    EXPECT_EQ(h.quantile(1.0), 31U);
}

TEST(HistogramTest, QuantilesAreWithinTwoPercent) {
    Histogram h;
    for (uint64_t v = 1; v <= 100'000; v++) {
        h.add(v);
    }
    for (double q : {0.01, 0.5, 0.95, 0.99, 0.999}) {
        double exact = q * 100'000;
        EXPECT_NEAR(static_cast<double>(h.quantile(q)), exact, exact * 0.02) << q;
    }
    EXPECT_EQ(h.max(), 100'000U);
    EXPECT_EQ(h.min(), 1U);
    EXPECT_NEAR(h.mean(), 50'000.5, 0.01);
}

TEST(HistogramTest, QuantilesStayWithinTheValuesSeen) {
    Histogram h;
    h.add(1'000'003);
    EXPECT_EQ(h.quantile(0.0), 1'000'003U);
    EXPECT_EQ(h.quantile(0.5), 1'000'003U);
    EXPECT_EQ(h.quantile(1.0), 1'000'003U);
}

TEST(HistogramTest, TakesTheLargestValue) {
    Histogram h;
    h.add(UINT64_MAX);
    EXPECT_EQ(h.quantile(0.5), UINT64_MAX);
}

TEST(HistogramTest, MergedEqualsAddedToOne) {
    Histogram a;
    Histogram b;
    Histogram both;
    for (uint64_t v = 1; v < 5000; v += 3) {
        (v % 2 == 0 ? a : b).add(v);
        both.add(v);
    }
    a.merge(b);
    EXPECT_EQ(a.count(), both.count());
    EXPECT_EQ(a.max(), both.max());
    EXPECT_EQ(a.min(), both.min());
    for (double q : {0.1, 0.5, 0.9}) {
        EXPECT_EQ(a.quantile(q), both.quantile(q));
    }
}

}  // namespace
}  // namespace weir::load
