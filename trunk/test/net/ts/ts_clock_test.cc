#include "net/ts/ts_clock.h"

#include <gtest/gtest.h>

namespace weir::net {
namespace {

using media::TrackKind;

constexpr int64_t kMs = 90;

class TsClockTest : public testing::Test {
  protected:
    int64_t video(int64_t dts_ms, int64_t pts_ms = -1) {
        times_ =
            clock_.map(TrackKind::kVideo, dts_ms * kMs, (pts_ms < 0 ? dts_ms : pts_ms) * kMs, now_);
        return times_.decoded_ms;
    }

    int64_t audio(int64_t ms) {
        return clock_.map(TrackKind::kAudio, ms * kMs, ms * kMs, now_).decoded_ms;
    }

    void pass(int64_t ms) { now_ += Millis(ms); }

    static constexpr int64_t kOrigin = TsClock::kOriginMs;
    TsClock clock_;
    TsClock::Times times_;
    MonoTime now_{Seconds(1'000)};
};

TEST_F(TsClockTest, TracksKeepTheirDistance) {
    EXPECT_EQ(video(50'000), kOrigin);
    EXPECT_EQ(audio(49'300), kOrigin - 700);
    EXPECT_EQ(video(50'040), kOrigin + 40);
    EXPECT_EQ(audio(50'020), kOrigin + 20);
    EXPECT_EQ(clock_.jumps(), 0U);
}

TEST_F(TsClockTest, PresentationIsAheadOfDecoding) {
    video(1'000, 1'080);
    EXPECT_EQ(times_.composition_ms, 80);
    video(1'040, 1'040);
    EXPECT_EQ(times_.composition_ms, 0);
    video(1'080, 1'000);  // before its decoding: cannot be
    EXPECT_EQ(times_.composition_ms, 0);
    video(1'120, 90'000);
    EXPECT_EQ(times_.composition_ms, 0);
}

TEST_F(TsClockTest, OddRatesStayEven) {
    int64_t before = 0;
    for (int64_t i = 0; i < 1'000; i++) {
        const int64_t dts = i * 90'000 * 1'001 / 30'000;
        const TsClock::Times times = clock_.map(TrackKind::kVideo, dts, dts + 3'003, now_);
        if (i > 0) {
            EXPECT_NEAR(static_cast<double>(times.decoded_ms - before), 33.4, 0.7);
        }
        EXPECT_NEAR(times.composition_ms, 33.4, 0.7);
        before = times.decoded_ms;
    }
}

// A loop: the video jumps first, the audio of before comes for a while, then it jumps too.
TEST_F(TsClockTest, BothTracksGoOnTogetherOverAJump) {
    for (int64_t i = 0; i < 100; i++) {
        video(500'000 + i * 40);
        audio(499'400 + i * 40);
        pass(40);
    }
    const int64_t last_video = kOrigin + 99 * 40;
    for (int64_t i = 0; i < 15; i++) {
        EXPECT_EQ(video(1'000 + i * 40), last_video + 40 + i * 40);
        EXPECT_EQ(audio(499'400 + (100 + i) * 40), kOrigin - 600 + (100 + i) * 40);
        pass(40);
    }
    for (int64_t i = 15; i < 100; i++) {
        EXPECT_EQ(video(1'000 + i * 40), last_video + 40 + i * 40);
        // The new clock says that audio and video of 1,000 belong together.
        EXPECT_EQ(audio(1'000 + (i - 15) * 40), last_video + 40 + (i - 15) * 40);
        pass(40);
    }
    EXPECT_EQ(clock_.jumps(), 1U);
}

TEST_F(TsClockTest, AJumpAheadIsOneToo) {
    video(0);
    video(40);
    EXPECT_EQ(video(9'000'000), kOrigin + 80);
    EXPECT_EQ(video(9'000'040), kOrigin + 120);
    EXPECT_EQ(clock_.jumps(), 1U);
}

TEST_F(TsClockTest, APauseIsNoJump) {
    video(0);
    pass(60'000);
    EXPECT_EQ(video(60'000), kOrigin + 60'000);
    EXPECT_EQ(video(62'000), kOrigin + 62'000);
    EXPECT_EQ(clock_.jumps(), 0U);
}

TEST_F(TsClockTest, TimesOfATrackRise) {
    video(0);
    EXPECT_EQ(video(0), kOrigin + 1);
    EXPECT_EQ(video(1), kOrigin + 2);
    EXPECT_EQ(audio(20), kOrigin + 20);
    EXPECT_EQ(audio(10), kOrigin + 20);
    EXPECT_EQ(audio(30), kOrigin + 30);
}

TEST_F(TsClockTest, EndlessJumpsStayOnTheClock) {
    int64_t before = 0;
    for (int64_t i = 0; i < 10'000; i++) {
        const int64_t time = video(i % 2 == 0 ? i * 7 : 40'000'000 - i);
        EXPECT_GE(time, before);
        before = time;
        pass(40);
    }
    EXPECT_LT(before, kOrigin + 10'000 * 1'000);
}

TEST_F(TsClockTest, AFurtherAudioTrackMovesNothing) {
    EXPECT_EQ(clock_.beside(1, 0, now_), std::nullopt) << "there is no clock yet";
    video(1'000);
    EXPECT_EQ(audio(1'000), kOrigin);
    EXPECT_EQ(clock_.beside(1, 400 * kMs, now_), kOrigin - 600);
    EXPECT_EQ(clock_.beside(1, 390 * kMs, now_), kOrigin - 600) << "times of a track rise";
    EXPECT_EQ(clock_.beside(2, 1'300 * kMs, now_), kOrigin + 300);
    for (int64_t away = 10'000; away < 100'000; away += 7'000) {
        EXPECT_EQ(clock_.beside(1, away * kMs, now_), std::nullopt);
    }
    EXPECT_EQ(audio(1'020), kOrigin + 20);
    EXPECT_EQ(clock_.jumps(), 0U);
    EXPECT_EQ(clock_.beside(1, 420 * kMs, now_), kOrigin - 580) << "it is back";
}

}  // namespace
}  // namespace weir::net
