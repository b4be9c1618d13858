#include "media/timeline.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

namespace weir::media {
namespace {

constexpr auto kAudio = TrackKind::kAudio;
constexpr auto kVideo = TrackKind::kVideo;

// Frames arrive when the publisher's clock says, unless a test moves `now`.
class TimelineTest : public testing::Test {
  protected:
    int64_t at(TrackKind track, uint32_t timestamp, int64_t passed_ms = 0) {
        now_ += Millis(passed_ms);
        return timeline_.map(track, timestamp, now_);
    }

    Timeline timeline_;
    MonoTime now_{Seconds(1000)};
};

TEST_F(TimelineTest, StartsAtTheSamePlaceWhateverThePublishersClock) {
    for (uint32_t first : {0U, 17'000'000U, 0x7fffffffU, 0xffffffffU}) {
        Timeline timeline;
        EXPECT_FALSE(timeline.started());
        EXPECT_EQ(timeline.latest(), Timeline::kStart);
        EXPECT_EQ(timeline.map(kVideo, first, now_), Timeline::kStart);
        EXPECT_EQ(timeline.map(kVideo, first + 40, now_ + Millis(40)), Timeline::kStart + 40);
        EXPECT_TRUE(timeline.started());
        EXPECT_EQ(timeline.shifts(), 0U);
        EXPECT_EQ(timeline.clamps(), 0U);
    }
}

TEST_F(TimelineTest, SaysHowFarItIsFromThePublishersClock) {
    EXPECT_FALSE(timeline_.shift());
    at(kAudio, 4990);
    EXPECT_EQ(timeline_.shift(), 10'000 - 4990);
    at(kVideo, 5000);
    EXPECT_EQ(timeline_.shift(), 10'000 - 4990);
    EXPECT_EQ(at(kVideo, 4000, 40), 10'050) << "a step back";
    EXPECT_EQ(timeline_.shift(), 10'050 - 4000);
    timeline_.rebase();
    EXPECT_FALSE(timeline_.shift()) << "the next publisher has sent nothing";
}

TEST_F(TimelineTest, KeepsTheDistanceOfTheTracks) {
    EXPECT_EQ(at(kVideo, 5000), 10'000);
    EXPECT_EQ(at(kAudio, 4990), 9'990);
    EXPECT_EQ(at(kAudio, 5013, 20), 10'013);
    EXPECT_EQ(at(kVideo, 5040, 20), 10'040);
    EXPECT_EQ(at(kAudio, 5036), 10'036);
    EXPECT_EQ(timeline_.latest(), 10'040);
    EXPECT_EQ(timeline_.clamps(), 0U);
}

TEST_F(TimelineTest, ATrackMayBeginSecondsBeforeTheFirst) {
    at(kVideo, 8000);
    EXPECT_EQ(at(kAudio, 4000), 6'000);
    EXPECT_EQ(timeline_.clamps(), 0U);
}

TEST_F(TimelineTest, ATrackWithAClockOfItsOwnBeginsWhereTheOtherOneIs) {
    at(kVideo, 3'600'000);
    EXPECT_EQ(at(kAudio, 0, 20), 10'020);
    EXPECT_EQ(at(kAudio, 23, 23), 10'043);
    EXPECT_EQ(at(kVideo, 3'600'080, 37), 10'080);
}

TEST_F(TimelineTest, GoesOnWhenThePublishersClockWrapsInBothTracks) {
    const uint32_t before = 0xffffffff - 100;
    int64_t expected = Timeline::kStart;
    EXPECT_EQ(at(kVideo, before), expected);
    for (uint32_t i = 1; i < 20; i++) {
        // The tracks cross the border at different frames, so the clock wraps back and forth
        // between them.
        EXPECT_EQ(at(kVideo, before + i * 20, 20), expected + i * 20);
        EXPECT_EQ(at(kAudio, before + i * 20 - 15), expected + i * 20 - 15);
    }
    EXPECT_EQ(timeline_.shifts(), 0U);
    EXPECT_EQ(timeline_.clamps(), 0U);
}

TEST_F(TimelineTest, GoesOnThroughManyWraps) {
    uint32_t timestamp = 0;
    int64_t expected = Timeline::kStart;
    EXPECT_EQ(at(kVideo, timestamp), expected);
    for (int i = 0; i < 500; i++) {  // a frame each 3 days, six times the 49 days of 32 bits
        const uint32_t step = 50'000'000;
        timestamp += step;
        expected += step;
        ASSERT_EQ(at(kVideo, timestamp, step), expected) << i;
    }
    EXPECT_EQ(timeline_.shifts(), 0U);
}

TEST_F(TimelineTest, ClampsASmallStepBackWithinATrack) {
    at(kVideo, 1000);
    at(kVideo, 1040);
    EXPECT_EQ(at(kVideo, 1000), 10'040);
    EXPECT_EQ(at(kVideo, 1039), 10'040);
    EXPECT_EQ(timeline_.clamps(), 2U);
    EXPECT_EQ(at(kVideo, 1080), 10'080) << "the shift is untouched";
    EXPECT_EQ(timeline_.shifts(), 0U);
}

TEST_F(TimelineTest, TimesOfPresentationInPlaceOfThoseOfDecodingAreNoStep) {
    at(kVideo, 1000);
    for (uint32_t group = 0; group < 50; group++) {  // I P B B, 25 pictures a second
        const uint32_t first = 1000 + group * 120;
        EXPECT_EQ(at(kVideo, first + 120, 40), 10'120 + group * 120);
        EXPECT_EQ(at(kVideo, first + 40, 40), 10'120 + group * 120);
        EXPECT_EQ(at(kVideo, first + 80, 40), 10'120 + group * 120);
    }
    EXPECT_EQ(timeline_.shifts(), 0U);
}

// A publisher whose clock is set while it sends: both tracks step, each at its own frame.
class TimelineStepTest : public TimelineTest,
                         public testing::WithParamInterface<std::tuple<int64_t, int64_t, int64_t>> {
};

TEST_P(TimelineStepTest, BothTracksGoOnAtTheirPaceAndInStep) {
    const auto [step, interval, at_ms] = GetParam();
    const auto sent = [&](int64_t true_ms) {
        return static_cast<uint32_t>(1'000'000'000 + true_ms + (true_ms >= at_ms ? step : 0));
    };
    int64_t last_video = 0;
    int64_t last_audio = 0;
    for (int64_t t = 0; t < 10'000; t++) {
        now_ += Millis(1);
        if (t % interval == 0) {
            const int64_t time = timeline_.map(kVideo, sent(t), now_);
            // Where video steps first, by less than counts as one, only audio shows that it did.
            const auto most = static_cast<double>(t == at_ms ? interval + 5 : 45);
            EXPECT_NEAR(static_cast<double>(time), static_cast<double>(10'000 + t), most) << t;
            EXPECT_GE(time, last_video) << t;
            last_video = time;
        }
        if (t % 23 == 5) {
            const int64_t time = timeline_.map(kAudio, sent(t), now_);
            EXPECT_NEAR(static_cast<double>(time), static_cast<double>(10'000 + t), 45) << t;
            EXPECT_TRUE(t == 5 || time > last_audio) << t;
            last_audio = time;
            if (t > at_ms + 2 * interval) {
                // As far apart as they were, so that lips and sound fit.
                EXPECT_EQ(time - last_video, t % interval) << t;
            }
        }
    }
    EXPECT_EQ(timeline_.shifts(), 1U);
}

// At 4000 video steps first, at 4001 audio.
INSTANTIATE_TEST_SUITE_P(
    Back,
    TimelineStepTest,
    testing::Combine(testing::Values(-300, -400, -600, -800, -1'500, -2'500, -4'900, -3'600'000),
                     testing::Values(40, 83, 100, 200, 500),
                     testing::Values(4'000, 4'001)));

INSTANTIATE_TEST_SUITE_P(Ahead,
                         TimelineStepTest,
                         testing::Combine(testing::Values(2'500, 4'900, 3'600'000),
                                          testing::Values(40, 100, 200),
                                          testing::Values(4'000, 4'001)));

INSTANTIATE_TEST_SUITE_P(AheadOfSlowVideo,
                         TimelineStepTest,
                         testing::Values(std::tuple{2'500, 500, 4'001}));

// One or two frames with wrong stamps, in a track that is otherwise right.
class TimelineStrayTest : public TimelineTest,
                          public testing::WithParamInterface<std::tuple<int64_t, int, TrackKind>> {
  protected:
    // `slow_by`: how late the frame after the strays arrives.
    void stray(int64_t first_ms, int64_t interval, int64_t slow_by = 0) {
        const auto [size, count, track] = GetParam();
        int strays = 0;
        int64_t last[2] = {0, 0};
        // Where it is no step, times stand still for the length of a stray ahead.
        const bool is_step = size < 0 || size > Timeline::kMaxFirstStepAhead;
        const int64_t in_step_at = first_ms + count * interval + (is_step ? 0 : size) + 1'000;
        for (int64_t t = 0; t < in_step_at + 500; t++) {
            now_ += Millis(1);
            for (const TrackKind each : {kAudio, kVideo}) {
                if (each == kVideo ? t % interval != 0 : t % 23 != 5) {
                    continue;
                }
                const bool is_stray = each == track && t >= first_ms && strays < count;
                strays += is_stray ? 1 : 0;
                if (each == track && strays == count && !is_stray) {
                    now_ += Millis(std::exchange(slow_by, 0));
                }
                const int64_t sent = 1'000'000'000 + t + (is_stray ? size : 0);
                const int64_t time = timeline_.map(each, static_cast<uint32_t>(sent), now_);
                int64_t& before = last[each == kVideo ? 1 : 0];
                EXPECT_GE(time, before) << t;
                before = time;
                if (t < first_ms || t > in_step_at || each != track) {
                    EXPECT_EQ(time, 10'000 + t) << t << " " << (each == kVideo);
                }
                if (is_step) {
                    EXPECT_NEAR(static_cast<double>(time), static_cast<double>(10'000 + t),
                                static_cast<double>(2 * interval));
                }
            }
        }
    }
};

TEST_P(TimelineStrayTest, BothTracksAreInStepAfterwards) {
    stray(2'000, 40);
}

TEST_P(TimelineStrayTest, TenPicturesASecondToo) {
    stray(2'000, 100);
}

TEST_P(TimelineStrayTest, AmongTheFirstFramesToo) {
    stray(120, 40);
}

TEST_P(TimelineStrayTest, WhenTheNextFrameIsHeldUpToo) {
    stray(2'000, 40, 300);
}

INSTANTIATE_TEST_SUITE_P(Strays,
                         TimelineStrayTest,
                         testing::Combine(testing::Values(-3'600'000,
                                                          -4'900,
                                                          -1'400,
                                                          -800,
                                                          -400,
                                                          -300,
                                                          -260,
                                                          260,
                                                          300,
                                                          400,
                                                          800,
                                                          1'400,
                                                          1'600,
                                                          4'900,
                                                          3'600'000),
                                          testing::Values(1, 2),
                                          testing::Values(kAudio, kVideo)));

TEST_F(TimelineTest, StraysInBothTracksLeaveBothInStep) {
    for (uint32_t t = 0; t < 8'000; t += 20) {
        const bool strays = t >= 4'000 && t < 4'040;
        const int64_t video = at(kVideo, 500'000 + t - (strays ? 600 : 0), 10);
        const int64_t audio = at(kAudio, 500'000 + t - (strays ? 600 : 0), 10);
        if (t > 5'000) {
            ASSERT_EQ(video, 10'000 + t);
            ASSERT_EQ(audio, 10'000 + t);
        }
    }
}

TEST_F(TimelineTest, AHoleLongAfterAStepBackStaysAHole) {
    uint32_t t = 10'000;
    for (; t < 12'000; t += 40) {
        at(kVideo, t, 40);
    }
    t -= 800;
    int64_t before = 0;
    for (; t < 16'000; t += 40) {
        before = at(kVideo, t, 40);
    }
    EXPECT_EQ(at(kVideo, t + 800, 40), before + 840) << "not the shift from before the step";
    EXPECT_EQ(timeline_.shifts(), 1U);
}

TEST_F(TimelineTest, AClockThatBeginsAnewInOneTrackOnlyMovesThatTrackOnly) {
    for (uint32_t t = 0; t < 8'000; t += 20) {
        const uint32_t audio = t < 4'000 ? 500'000 + t : t - 4'000;
        EXPECT_EQ(at(kVideo, 500'000 + t, 10), 10'000 + t);
        EXPECT_NEAR(static_cast<double>(at(kAudio, audio, 10)), 10'000 + t, 40);
    }
    EXPECT_EQ(timeline_.shifts(), 1U);
}

TEST_F(TimelineTest, WhatWasHeldUpAndComesAtOnceIsLateAndNoStep) {
    for (uint32_t t = 0; t < 2'000; t += 40) {
        at(kVideo, t, 40);
    }
    // Six seconds nothing comes; of that the publisher has kept the first and the last second.
    EXPECT_EQ(at(kVideo, 2'000, 6'000), 12'000);
    for (uint32_t t = 2'040; t < 3'000; t += 40) {
        EXPECT_EQ(at(kVideo, t), 10'000 + t);
    }
    for (uint32_t t = 7'000; t < 8'000; t += 40) {
        EXPECT_EQ(at(kVideo, t), 10'000 + t) << "the hole is a hole";
    }
    EXPECT_EQ(timeline_.shifts(), 0U);
}

TEST_F(TimelineTest, TwoPicturesASecondAreNoSteps) {
    for (uint32_t t = 0; t < 20'000; t += 500) {
        EXPECT_EQ(at(kVideo, t, 500), 10'000 + t);
    }
    EXPECT_EQ(timeline_.shifts(), 0U);
}

TEST_F(TimelineTest, ALargeStepBackIsARestartAndContinuesOneFrameAfterTheLast) {
    at(kVideo, 50'000);
    at(kVideo, 50'033, 33);
    EXPECT_EQ(at(kVideo, 0, 33), 10'066);
    EXPECT_EQ(timeline_.shifts(), 1U);
    EXPECT_EQ(at(kVideo, 33, 33), 10'099);
    EXPECT_EQ(at(kAudio, 20), 10'086) << "audio moves with video";
    EXPECT_EQ(timeline_.shifts(), 1U);
    EXPECT_EQ(timeline_.clamps(), 0U);
}

TEST_F(TimelineTest, AStrayFrameInThePastLeavesNoGapBehind) {
    at(kVideo, 50'000);
    EXPECT_EQ(at(kVideo, 50'040, 40), 10'040);
    EXPECT_EQ(at(kAudio, 50'030), 10'030);
    EXPECT_EQ(at(kAudio, 50'050, 10), 10'050);
    EXPECT_EQ(at(kAudio, 45'070, 20), 10'070) << "one frame after the one before";
    EXPECT_EQ(at(kAudio, 50'090, 20), 10'090);
    EXPECT_EQ(at(kVideo, 50'120, 40), 10'120);
    EXPECT_EQ(at(kAudio, 50'113), 10'113);
}

TEST_F(TimelineTest, AStrayFrameInTheFutureLeavesNoGapBehind) {
    at(kVideo, 50'000);
    EXPECT_EQ(at(kVideo, 3'600'000, 40), 10'040);
    EXPECT_EQ(at(kVideo, 50'080, 40), 10'080);
    EXPECT_EQ(at(kVideo, 50'120, 40), 10'120);
}

TEST_F(TimelineTest, ARestartWithBothTracksMovesTheShiftOnce) {
    at(kAudio, 60'000);
    at(kVideo, 60'000);
    at(kAudio, 60'020, 20);
    at(kVideo, 60'040, 20);
    EXPECT_EQ(at(kAudio, 0, 20), 10'040);
    EXPECT_EQ(at(kVideo, 20, 20), 10'060);
    EXPECT_EQ(timeline_.shifts(), 1U);
}

TEST_F(TimelineTest, BelievesAJumpAheadThatTheWallClockExplains) {
    at(kVideo, 0);
    EXPECT_EQ(at(kVideo, 60'000, 60'000), 70'000) << "a publisher that was silent for a minute";
    EXPECT_EQ(timeline_.shifts(), 0U);
}

TEST_F(TimelineTest, BelievesAJumpAheadThatIsSmall) {
    at(kVideo, 0);
    EXPECT_EQ(at(kVideo, 10'000), 20'000);
    EXPECT_EQ(timeline_.shifts(), 0U);
}

TEST_F(TimelineTest, AJumpAheadThatNothingExplainsIsARestart) {
    at(kVideo, 0);
    at(kVideo, 40, 40);
    EXPECT_EQ(at(kVideo, 3'600'000, 40), 10'080);
    EXPECT_EQ(timeline_.shifts(), 1U);
    EXPECT_EQ(at(kVideo, 3'600'040, 40), 10'120);
}

TEST_F(TimelineTest, AnUnexplainedJumpAfterSilenceContinuesByTheWallClock) {
    at(kVideo, 0);
    EXPECT_EQ(at(kVideo, 900'000, 5000), 15'000);
    EXPECT_EQ(timeline_.shifts(), 1U);
}

TEST_F(TimelineTest, ASingleWildTimestampDoesNotMoveTheStreamAway) {
    at(kVideo, 0);
    at(kVideo, 40, 40);
    at(kVideo, 0x70000000, 40);
    const int64_t after = at(kVideo, 120, 40);
    EXPECT_GT(after, 10'080);
    EXPECT_LE(after, 10'200);
    EXPECT_EQ(timeline_.shifts(), 2U);
}

TEST_F(TimelineTest, ANewPublisherContinuesOneFrameAfterTheLast) {
    at(kVideo, 1000);
    at(kVideo, 1033, 33);
    at(kAudio, 1040);
    timeline_.rebase();
    EXPECT_EQ(at(kVideo, 17'000'000, 20'000), 10'040 + 33)
        << "the silence between the publishers is no media time";
    EXPECT_EQ(at(kAudio, 17'000'010), 10'083);
    EXPECT_EQ(at(kVideo, 17'000'033, 33), 10'106);
    EXPECT_EQ(timeline_.clamps(), 0U);
}

TEST_F(TimelineTest, ANewPublishersTrackThatBeginsEarlierDoesNotGoBack) {
    at(kVideo, 1000);
    at(kAudio, 1000);
    timeline_.rebase();
    EXPECT_EQ(at(kVideo, 500), 10'040);
    EXPECT_GE(at(kAudio, 300), 10'000) << "never before what players have";
    EXPECT_EQ(at(kAudio, 600, 100), 10'140) << "then in step with video";
}

TEST_F(TimelineTest, RebaseBeforeTheFirstFrameChangesNothing) {
    timeline_.rebase();
    EXPECT_EQ(at(kVideo, 77), Timeline::kStart);
    EXPECT_EQ(timeline_.shifts(), 0U);
}

TEST_F(TimelineTest, TheFrameGapFillsInWhereNoIntervalIsKnown) {
    at(kAudio, 100);
    timeline_.rebase();
    EXPECT_EQ(at(kAudio, 0), Timeline::kStart + Timeline::kFrameGap);
}

TEST_F(TimelineTest, NeverGoesBackWithinATrackWhateverThePublisherSends) {
    uint32_t state = 12345;
    int64_t last[2] = {0, 0};
    for (int i = 0; i < 20'000; i++) {
        state = state * 1664525 + 1013904223;
        const TrackKind track = (state >> 9) % 2 == 0 ? kAudio : kVideo;
        const uint32_t timestamp = i % 3 == 0 ? state : (state >> 20);
        if (i % 1000 == 999) {
            timeline_.rebase();
        }
        const int64_t time = at(track, timestamp, (state >> 16) % 50);
        int64_t& before = last[track == kVideo ? 1 : 0];
        ASSERT_GE(time, before) << i;
        before = time;
        ASSERT_GE(timeline_.latest(), time);
    }
    EXPECT_LT(timeline_.latest(), Timeline::kStart + int64_t{20'000} * 10'100);
}

TEST_F(TimelineTest, OneMillisecondBeyondTheLongestJumpIsARestart) {
    at(kVideo, 0);
    at(kVideo, 40, 40);
    EXPECT_EQ(at(kVideo, 10'080, 39), 10'080) << "the real time, which is less than a frame";
    EXPECT_EQ(timeline_.shifts(), 1U);
    EXPECT_EQ(at(kVideo, 20'080), 20'080) << "just as long as it may be";
    EXPECT_EQ(timeline_.shifts(), 1U);
}

TEST_F(TimelineTest, OneMillisecondBeyondTheLongestStepBackIsARestart) {
    at(kVideo, 5000);
    EXPECT_EQ(at(kVideo, 4750), 10'000);
    EXPECT_EQ(timeline_.clamps(), 1U);
    EXPECT_EQ(timeline_.shifts(), 0U);
    EXPECT_EQ(at(kVideo, 4749), 10'040);
    EXPECT_EQ(timeline_.shifts(), 1U);
}

TEST_F(TimelineTest, AClockThatGoesBackIsNoElapsedTime) {
    at(kVideo, 0);
    EXPECT_EQ(at(kVideo, 10'000, -5000), 20'000);
    EXPECT_EQ(timeline_.shifts(), 0U);
    EXPECT_EQ(at(kVideo, 30'000, -5000), 20'040) << "a jump that nothing explains";
}

TEST_F(TimelineTest, TheShiftOfAnotherPublisherDoesNotComeBack) {
    at(kVideo, 50'000);
    at(kVideo, 50'040, 40);
    EXPECT_EQ(at(kVideo, 0, 40), 10'080);  // a restart
    timeline_.rebase();
    EXPECT_EQ(at(kVideo, 900'000, 40), 10'120);
    // It would fit the shift from before the restart.
    EXPECT_EQ(at(kVideo, 50'170, 40), 10'160);
    EXPECT_EQ(at(kVideo, 900'080, 40), 10'200) << "the shift of this publisher does";
}

TEST_F(TimelineTest, ASecondTrackOfAKindMovesNothing) {
    EXPECT_EQ(timeline_.beside(kAudio, 5'000, now_), std::nullopt) << "there is no first one yet";
    at(kVideo, 5'000);
    at(kAudio, 5'000);
    EXPECT_EQ(timeline_.beside(kAudio, 5'700, now_), 10'700);
    EXPECT_EQ(timeline_.beside(kAudio, 4'500, now_), 9'500) << "half a second behind";
    EXPECT_EQ(at(kAudio, 5'020, 20), 10'020);
    EXPECT_EQ(timeline_.shifts(), 0U);
    EXPECT_EQ(timeline_.clamps(), 0U);
    EXPECT_EQ(timeline_.beside(kAudio, 5'000 + 20'000, now_), std::nullopt) << "nowhere near";
}

TEST_F(TimelineTest, ASecondTrackStepsBeforeOrBehindTheFirst) {
    at(kVideo, 50'000);
    at(kAudio, 50'000);
    at(kAudio, 50'020, 20);
    EXPECT_EQ(timeline_.beside(kAudio, 20, now_), std::nullopt) << "the first one has not stepped";
    EXPECT_EQ(at(kAudio, 0, 20), 10'040);
    EXPECT_EQ(timeline_.beside(kAudio, 20, now_), 10'060);
    EXPECT_EQ(timeline_.beside(kAudio, 50'030, now_), 10'030) << "of before the step";
}

TEST_F(TimelineTest, ASecondTrackGoesOnWhileTheFirstIsSilent) {
    at(kAudio, 5'000);
    now_ += Millis(20'000);
    EXPECT_EQ(timeline_.beside(kAudio, 25'000, now_), 30'000) << "by the last shift";
    EXPECT_EQ(timeline_.beside(kAudio, 35'000, now_), std::nullopt) << "nobody is there yet";
}

TEST_F(TimelineTest, ASecondTrackHasTheClockOfTheVideoWhereTheFirstNeverCame) {
    at(kVideo, 5'000);
    EXPECT_EQ(timeline_.beside(kAudio, 5'700, now_), 10'700);
}

}  // namespace
}  // namespace weir::media
