#include "proto/rtp/rate_control.h"

#include <gtest/gtest.h>

#include "test/proto/rtp/packets.h"

namespace weir::rtp {
namespace {

using test::kStart;

constexpr Micros kRtt = Millis(100);

TEST(RateMeterTest, MeasuresTheLastHalfSecond) {
    RateMeter meter;
    EXPECT_FALSE(meter.bps());
    for (int ms = 0; ms < 2'000; ms += 10) {
        meter.add(Millis(ms), 1'250);  // 1 Mbit/s
        if (ms < 250) {
            EXPECT_FALSE(meter.bps()) << ms;
        } else {
            EXPECT_NEAR(static_cast<double>(*meter.bps()), 1e6, 5e4) << ms;
        }
    }
    for (int ms = 2'000; ms < 2'500; ms += 10) {
        meter.add(Millis(ms), 2'500);
    }
    EXPECT_NEAR(static_cast<double>(*meter.bps()), 2e6, 1e5);
}

TEST(RateMeterTest, BeginsAnewAfterAPauseAndTakesSmallStepsBack) {
    RateMeter meter;
    for (int ms = 0; ms < 1'000; ms += 10) {
        meter.add(Millis(ms), 1'250);
    }
    meter.add(Millis(980), 1'250);
    EXPECT_TRUE(meter.bps());
    meter.add(Seconds(10), 1'250);
    EXPECT_FALSE(meter.bps());
    meter.add(Seconds(1), 1'250);  // another clock
    EXPECT_FALSE(meter.bps());
}

TEST(RateMeterTest, APauseWithinTheWindowCountsAsNothing) {
    RateMeter meter;
    for (int ms = 0; ms < 1'000; ms += 10) {
        meter.add(Millis(ms), 1'250);
    }
    meter.add(Millis(1'900), 1'250);
    EXPECT_LT(*meter.bps(), 40'000);
}

TEST(DelayRateTest, GrowsByEightPercentASecondWhileNothingHappens) {
    DelayRate rate({.start_bps = 1'000'000});
    for (int ms = 0; ms <= 1'000; ms += 100) {
        rate.update(kStart + Millis(ms), PathLoad::kNormal, std::nullopt, kRtt);
    }
    EXPECT_NEAR(static_cast<double>(rate.bps()), 1'080'000, 2'000);
}

TEST(DelayRateTest, GrowsNoFurtherThanOneAndAHalfTimesWhatArrives) {
    DelayRate rate({.start_bps = 1'000'000});
    for (int s = 0; s <= 60; s++) {
        rate.update(kStart + Seconds(s), PathLoad::kNormal, 1'000'000, kRtt);
    }
    EXPECT_EQ(rate.bps(), 1'510'000);
    // Less that arrives is no reason to go down: the sender has nothing to send.
    rate.update(kStart + Seconds(61), PathLoad::kNormal, 100'000, kRtt);
    EXPECT_EQ(rate.bps(), 1'510'000);
}

TEST(DelayRateTest, FallsBelowWhatArrivesOnOveruseOnceARoundTrip) {
    DelayRate rate({.start_bps = 2'000'000});
    rate.update(kStart, PathLoad::kOver, 1'000'000, kRtt);
    EXPECT_EQ(rate.bps(), 850'000);
    rate.update(kStart + Millis(50), PathLoad::kOver, 900'000, kRtt);
    EXPECT_EQ(rate.bps(), 850'000);
    rate.update(kStart + Millis(100), PathLoad::kOver, 900'000, kRtt);
    EXPECT_EQ(rate.bps(), 765'000);
    rate.update(kStart + Millis(110), PathLoad::kOver, 100'000, kRtt);  // far too much still
    EXPECT_EQ(rate.bps(), 100'000);
}

TEST(DelayRateTest, WaitsUntilTheQueueIsEmptyAndThenGrowsSlowlyNearTheLimit) {
    DelayRate rate({.start_bps = 2'000'000});
    rate.update(kStart, PathLoad::kOver, 1'000'000, kRtt);
    MonoTime now = kStart;
    for (int i = 0; i < 20; i++) {
        now += Millis(100);
        rate.update(now, PathLoad::kUnder, 980'000, kRtt);
    }
    EXPECT_EQ(rate.bps(), 850'000);
    for (int i = 0; i < 11; i++) {  // the first one ends the waiting
        now += Millis(100);
        rate.update(now, PathLoad::kNormal, 990'000, kRtt);
    }
    // A quarter of a packet per 100 ms: additive.
    EXPECT_NEAR(static_cast<double>(rate.bps()), 850'000 + 10 * 2'400, 1'000);
}

TEST(DelayRateTest, StaysWithinItsLimits) {
    DelayRate rate({.min_bps = 200'000, .start_bps = 300'000, .max_bps = 400'000});
    for (int s = 0; s < 60; s++) {
        rate.update(kStart + Seconds(s), PathLoad::kNormal, std::nullopt, kRtt);
    }
    EXPECT_EQ(rate.bps(), 400'000);
    rate.update(kStart + Seconds(61), PathLoad::kOver, 1'000, kRtt);
    EXPECT_EQ(rate.bps(), 200'000);
}

class LossRateTest : public testing::Test {
  protected:
    // Half a second in which `sent` packets were sent.
    void interval(size_t sent, double loss) {
        const auto lost = static_cast<size_t>(static_cast<double>(sent) * loss);
        rate_.add(sent - lost, lost);
        now_ += Millis(500);
        rate_.update(now_, 10'000'000);
    }

    void SetUp() override { rate_.update(now_, 10'000'000); }

    MonoTime now_ = kStart;
    LossRate rate_{{.start_bps = 1'000'000}};
};

TEST_F(LossRateTest, GrowsWithoutLossAndHoldsWithALittle) {
    interval(100, 0);
    EXPECT_EQ(rate_.bps(), 1'051'000);
    interval(100, 0.05);
    EXPECT_EQ(rate_.bps(), 1'051'000);
    EXPECT_DOUBLE_EQ(rate_.loss(), 0.05);
}

TEST_F(LossRateTest, FallsByHalfOfWhatIsLost) {
    interval(100, 0.2);
    EXPECT_EQ(rate_.bps(), 900'000);
}

TEST_F(LossRateTest, FewPacketsSayNothing) {
    interval(39, 0.9);
    EXPECT_EQ(rate_.bps(), 1'000'000);
    interval(39, 0.9);  // together they do
    EXPECT_LT(rate_.bps(), 600'000);
}

TEST_F(LossRateTest, ABottleneckIsReducedUntilNothingIsLost) {
    // 100 packets pass in half a second, whatever is sent.
    for (int i = 0; i < 20; i++) {
        const double sent = static_cast<double>(rate_.bps()) / 5'000;
        interval(static_cast<size_t>(sent), std::max(1 - 100 / sent, 0.0));
    }
    EXPECT_LE(rate_.bps(), 600'000);
    EXPECT_LT(rate_.own_loss(), 0.01);
}

TEST_F(LossRateTest, LossByChanceIsFoundOutAndEndured) {
    int64_t lowest = rate_.bps();
    for (int i = 0; i < 40; i++) {
        interval(static_cast<size_t>(rate_.bps() / 5'000), 0.2);
        lowest = std::min(lowest, rate_.bps());
    }
    EXPECT_GE(lowest, 600'000);
    EXPECT_GE(rate_.bps(), 1'000'000);
    EXPECT_NEAR(rate_.own_loss(), 0.2, 0.02);
    for (int i = 0; i < 40; i++) {  // the path gets better: that is forgotten
        interval(200, 0);
    }
    EXPECT_LT(rate_.own_loss(), 0.01);
}

TEST_F(LossRateTest, DoesNotOutgrowTheOtherHalfByMuch) {
    for (int i = 0; i < 100; i++) {
        rate_.add(100, 0);
        now_ += Millis(500);
        rate_.update(now_, 800'000);
    }
    EXPECT_EQ(rate_.bps(), 1'200'000);
}

}  // namespace
}  // namespace weir::rtp
