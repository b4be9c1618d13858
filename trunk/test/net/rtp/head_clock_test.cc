#include "net/rtp/head_clock.h"

#include <gtest/gtest.h>

namespace weir::net {
namespace {

constexpr MonoTime kBegin{Seconds(1'000)};

class HeadClockTest : public testing::Test {
  protected:
    // Frames of 40 ms, each `late` behind its time.
    void run(int frames, Millis late = Millis(0)) {
        for (int i = 0; i < frames; i++, frame_++) {
            clock_.note(5'000 + 40 * frame_, kBegin + Millis(40 * frame_) + late);
        }
    }

    // What the steady clock is ahead of the first frame's time.
    Micros ahead() const {
        const MonoTime now = kBegin + Millis(40 * frame_);
        return Micros(clock_.steady(now) - (5'000 + 40 * frame_) * 1'000);
    }

    HeadClock clock_;
    int64_t frame_ = 0;
};

TEST_F(HeadClockTest, TheSteadyClockIsThatOfTheFirstFrames) {
    run(1);
    EXPECT_EQ(ahead(), Micros(0));
    run(100);
    EXPECT_EQ(ahead(), Micros(0));
}

TEST_F(HeadClockTest, AGroupOfPicturesThatComesAtOnceSetsIt) {
    for (int64_t ms = 0; ms <= 2'000; ms += 40) {
        clock_.note(3'000 + ms, kBegin + Millis(ms / 200));
    }
    EXPECT_NEAR(static_cast<double>(ahead().count()), 0, 20'000);
}

TEST_F(HeadClockTest, TheSteadyClockHasNoSteps) {
    run(1, Millis(10));  // the first frame came late
    run(1);
    EXPECT_LE(ahead(), Micros(-10'000) + Micros(80 * HeadClock::kSteadyPpm / 1'000));
    const Micros before = ahead();
    run(25);
    EXPECT_NEAR(static_cast<double>((ahead() - before).count()),
                1'000 * HeadClock::kSteadyPpm / 1'000, 100);
    run(2'000);
    EXPECT_EQ(ahead(), Micros(0)) << "it arrives";
}

TEST_F(HeadClockTest, AJumpOfTheTimelineIsFollowedAtOnce) {
    run(25);
    clock_.note(5'000 + 40 * frame_ + 10'000, kBegin + Millis(40 * frame_));
    EXPECT_EQ(ahead(), Micros(10'000'000));
}

}  // namespace
}  // namespace weir::net
