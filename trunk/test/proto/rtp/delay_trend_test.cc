#include "proto/rtp/delay_trend.h"

#include <gtest/gtest.h>

namespace weir::rtp {
namespace {

constexpr Micros kBase = Seconds(1000);  // of the peer's clock

class DelayTrendTest : public testing::Test {
  protected:
    // Sends `count` packets, `interval` apart, of which each takes `growth` longer than the one
    // before. Returns after how many it said `wanted`, or count.
    int run(int count, Micros interval, Micros growth, PathLoad wanted) {
        for (int i = 0; i < count; i++) {
            sent_ += interval;
            delay_ += growth;
            trend_.on_packet(sent_, kBase + sent_ + delay_);
            if (trend_.load() == wanted) {
                return i;
            }
        }
        return count;
    }

    DelayTrend trend_;
    Micros sent_{};
    Micros delay_ = Millis(50);
};

TEST_F(DelayTrendTest, AConstantDelayIsNormal) {
    EXPECT_EQ(run(1'000, Millis(10), Micros(0), PathLoad::kOver), 1'000);
    EXPECT_EQ(trend_.load(), PathLoad::kNormal);
    EXPECT_NEAR(trend_.slope(), 0, 1e-6);
}

TEST_F(DelayTrendTest, AGrowingQueueIsOveruseWithinAFractionOfASecond) {
    run(100, Millis(10), Micros(0), PathLoad::kOver);
    EXPECT_LT(run(1'000, Millis(10), Millis(2), PathLoad::kOver), 40);
    EXPECT_GT(trend_.slope(), 0.03);
}

TEST_F(DelayTrendTest, AnEmptyingQueueIsUnderuse) {
    run(100, Millis(10), Micros(0), PathLoad::kOver);
    run(60, Millis(10), Millis(2), PathLoad::kUnder);
    EXPECT_LT(run(200, Millis(10), -Millis(1), PathLoad::kUnder), 100);
    EXPECT_EQ(run(1'000, Millis(10), Micros(0), PathLoad::kNormal) < 1'000, true);
}

TEST_F(DelayTrendTest, AFewGroupsSayNothing) {
    EXPECT_EQ(run(19, Millis(10), Millis(30), PathLoad::kOver), 19);
}

TEST_F(DelayTrendTest, PacketsOfABatchAreOneGroup) {
    // A frame of ten packets leaves at once and arrives spread over 20 ms: no queue that grows.
    for (int frame = 0; frame < 300; frame++) {
        const Micros sent = Millis(40 * frame);
        for (int i = 0; i < 10; i++) {
            trend_.on_packet(sent, kBase + sent + Millis(50 + 2 * i));
        }
        ASSERT_EQ(trend_.load(), PathLoad::kNormal) << frame;
    }
}

TEST_F(DelayTrendTest, PacketsThatWereHeldUpTogetherAreOneGroup) {
    // Wireless: what was sent within 40 ms arrives at once, again and again.
    for (int burst = 0; burst < 300; burst++) {
        for (int i = 0; i < 4; i++) {
            trend_.on_packet(Millis(40 * burst + 10 * i), kBase + Millis(40 * burst + 60));
        }
        ASSERT_EQ(trend_.load(), PathLoad::kNormal) << burst;
    }
}

TEST_F(DelayTrendTest, APauseBeginsTheLineAnew) {
    run(60, Millis(10), Millis(2), PathLoad::kUnder);
    EXPECT_EQ(trend_.load(), PathLoad::kOver);
    sent_ += Seconds(10);
    run(1, Millis(10), Micros(0), PathLoad::kOver);
    EXPECT_EQ(trend_.load(), PathLoad::kNormal);
}

TEST_F(DelayTrendTest, ClocksThatDriftApartAreNoQueue) {
    // 200 ppm for an hour: 720 ms.
    EXPECT_EQ(run(360'000, Millis(10), Micros(2), PathLoad::kOver), 360'000);
}

TEST_F(DelayTrendTest, PacketsOutOfOrderAreHarmless) {
    for (int i = 0; i < 1'000; i++) {
        const Micros sent = Millis(10 * (i % 7 == 3 ? i - 5 : i));
        trend_.on_packet(sent, kBase + Millis(10 * i + 50));
    }
    EXPECT_NE(trend_.load(), PathLoad::kOver);
}

TEST_F(DelayTrendTest, ClocksThatAreSetBeginTheLineAnew) {
    run(60, Millis(10), Millis(2), PathLoad::kUnder);
    delay_ -= Seconds(100);  // the peer's
    run(1, Millis(10), Micros(0), PathLoad::kOver);
    EXPECT_EQ(trend_.slope(), 0);
    run(60, Millis(10), Millis(2), PathLoad::kUnder);
    sent_ -= Seconds(10);  // ours, which does not happen, or a publisher's
    delay_ += Seconds(10);
    run(1, Millis(10), Micros(0), PathLoad::kOver);
    EXPECT_EQ(trend_.slope(), 0);
}

TEST_F(DelayTrendTest, ForgetsWhenTold) {
    run(60, Millis(10), Millis(2), PathLoad::kUnder);
    trend_.reset();
    EXPECT_EQ(trend_.load(), PathLoad::kNormal);
    EXPECT_EQ(trend_.slope(), 0);
}

}  // namespace
}  // namespace weir::rtp
