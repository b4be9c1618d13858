#include "base/rate_history.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr MonoTime kStart{Seconds(1000)};

class RateHistoryTest : public testing::Test {
  protected:
    // One second passes, in which the counter grows.
    void second(uint64_t growth) {
        now_ += Seconds(1);
        counter_ += growth;
        clock_.tick(now_);
        history_.sample(clock_, counter_);
    }

    double rate(int seconds, MonoTime since = kStart) const {
        return history_.per_second(clock_, now_, since, counter_, Seconds(seconds));
    }

    MonoTime now_ = kStart;
    RateClock clock_;
    RateHistory history_;
    uint64_t counter_ = 0;
};

TEST_F(RateHistoryTest, NothingIsNoRate) {
    EXPECT_EQ(rate(1), 0);
    EXPECT_EQ(rate(30), 0);
}

TEST_F(RateHistoryTest, ASteadyCounterHasTheSameRateInEveryWindow) {
    for (int i = 0; i < 100; i++) {
        second(16'000);
        for (const int window : {1, 10, 30}) {
            EXPECT_NEAR(rate(window), 16'000, 1) << window << " s, after " << i + 1;
        }
    }
}

TEST_F(RateHistoryTest, EachWindowForgetsInItsOwnTime) {
    for (int i = 0; i < 60; i++) {
        second(16'000);
    }
    for (int silent = 1; silent <= 40; silent++) {
        second(0);
        EXPECT_EQ(rate(1) == 0, silent >= 1) << silent;
        if (silent <= 9) {
            EXPECT_GT(rate(10), 0) << silent;
        } else if (silent >= 12) {
            EXPECT_EQ(rate(10), 0) << silent;
        }
        if (silent <= 29) {
            EXPECT_GT(rate(30), 0) << silent;
        } else if (silent >= 32) {
            EXPECT_EQ(rate(30), 0) << silent;
        }
    }
}

TEST_F(RateHistoryTest, AWindowOfTenSecondsIsExactForWhatItCovers) {
    for (int i = 0; i < 40; i++) {
        second(1'600);
    }
    for (int i = 0; i < 5; i++) {
        second(32'000);
    }
    // Five fast seconds and five to seven slow ones.
    EXPECT_LE(rate(10), (5 * 32'000 + 5 * 1'600) / 10.0 + 1);
    EXPECT_GE(rate(10), (5 * 32'000 + 7 * 1'600) / 12.0 - 1);
}

TEST_F(RateHistoryTest, AYoungCounterIsTakenOverItsLife) {
    for (int i = 0; i < 60; i++) {
        second(0);
    }
    const MonoTime since = now_;
    for (int i = 0; i < 5; i++) {
        second(16'000);
    }
    EXPECT_NEAR(rate(30, since), 16'000, 1);
    EXPECT_NEAR(rate(10, since), 16'000, 1);
}

TEST_F(RateHistoryTest, ABurstAtTheBeginningIsTakenOverASecond) {
    counter_ = 1'000'000;
    now_ += Millis(10);
    EXPECT_NEAR(rate(1), 1'000'000, 1);
    EXPECT_NEAR(rate(30), 1'000'000, 1);
}

TEST_F(RateHistoryTest, SamplesMayWrap) {
    counter_ = uint64_t{16} * UINT32_MAX - 50'000;  // in the middle of what follows
    for (int i = 0; i < 60; i++) {
        second(16'000);
        if (i > 32) {
            EXPECT_NEAR(rate(30), 16'000, 1);
        }
    }
}

TEST_F(RateHistoryTest, LateTicksDoNotMakeAnybodyFaster) {
    for (int i = 0; i < 40; i++) {
        second(16'000);
    }
    now_ += Seconds(5);  // the media thread had other things to do
    counter_ += 5 * 16'000;
    EXPECT_NEAR(rate(1), 16'000, 1);
    EXPECT_NEAR(rate(10), 16'000, 1);
    EXPECT_NEAR(rate(30), 16'000, 1);
}

TEST(FrameHistoryTest, CountsSingleFrames) {
    RateClock clock;
    FrameHistory history;
    uint64_t frames = 0;
    MonoTime now = kStart;
    for (int i = 0; i < 20; i++) {
        now += Seconds(1);
        frames += 25;
        clock.tick(now);
        history.sample(clock, frames);
    }
    EXPECT_NEAR(history.per_second(clock, now, kStart, frames, Seconds(10)), 25, 0.01);
}

}  // namespace
}  // namespace weir
