#include "media/decode_times.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace weir::media {
namespace {

constexpr uint32_t kClock = 90'000;
constexpr int64_t kFrame = 3'600;  // 25 a second

// The presentation times of a stream whose groups of `between` B-frames come behind the frame that
// is shown after them.
std::vector<int64_t> with_b_frames(int groups, int between, int64_t first = 1'000'000) {
    std::vector<int64_t> shown = {first};
    for (int group = 0; group < groups; group++) {
        const int64_t base = first + group * (between + 1) * kFrame;
        shown.push_back(base + (between + 1) * kFrame);
        for (int b = 1; b <= between; b++) {
            shown.push_back(base + b * kFrame);
        }
    }
    return shown;
}

std::vector<int64_t> times_of(DecodeTimes& times, const std::vector<int64_t>& shown) {
    std::vector<int64_t> all;
    all.reserve(shown.size());
    for (const int64_t each : shown) {
        all.push_back(times.next(each));
    }
    return all;
}

void expect_rising(const std::vector<int64_t>& times) {
    for (size_t i = 1; i < times.size(); i++) {
        EXPECT_GT(times[i], times[i - 1]) << "frame " << i;
    }
}

void expect_never_late(const std::vector<int64_t>& times,
                       const std::vector<int64_t>& shown,
                       size_t from = 0) {
    for (size_t i = from; i < times.size(); i++) {
        EXPECT_LE(times[i], shown[i]) << "frame " << i;
    }
}

TEST(DecodeTimesTest, WithoutBFramesTheyAreTheTimesOfShowing) {
    DecodeTimes times(kClock);
    for (int i = 0; i < 100; i++) {
        EXPECT_EQ(times.next(i * kFrame), i * kFrame);
    }
    EXPECT_EQ(times.depth(), 0U);
}

TEST(DecodeTimesTest, AKnownDepthGivesEvenTimesNeverBehindShowing) {
    for (const int between : {1, 2, 3, 7}) {
        SCOPED_TRACE(between);
        DecodeTimes times(kClock);
        times.set_depth(1);  // one reference frame before its B-frames
        const std::vector<int64_t> shown = with_b_frames(20, between);
        const std::vector<int64_t> made = times_of(times, shown);
        expect_rising(made);
        expect_never_late(made, shown);
        for (size_t i = 2; i < made.size(); i++) {
            EXPECT_EQ(made[i] - made[i - 1], kFrame) << "frame " << i;
        }
        EXPECT_EQ(times.depth(), 1U);
    }
}

// I P B b b: the B in the middle is a reference, shown after the first b.
TEST(DecodeTimesTest, APyramidNeedsTwo) {
    std::vector<int64_t> shown = {0};
    for (int64_t base = 0; base < 40 * kFrame; base += 4 * kFrame) {
        for (const int64_t step : {4, 2, 1, 3}) {
            shown.push_back(base + step * kFrame);
        }
    }
    DecodeTimes times(kClock);
    times.set_depth(2);
    const std::vector<int64_t> made = times_of(times, shown);
    expect_rising(made);
    expect_never_late(made, shown);
    EXPECT_EQ(times.depth(), 2U);
    for (size_t i = 3; i < made.size(); i++) {
        EXPECT_EQ(made[i] - made[i - 1], kFrame);
    }
}

TEST(DecodeTimesTest, AnUnknownDepthIsLearntWithinTheFirstGroup) {
    DecodeTimes times(kClock);
    const std::vector<int64_t> shown = with_b_frames(20, 2);
    const std::vector<int64_t> made = times_of(times, shown);
    EXPECT_EQ(times.depth(), 1U);
    expect_rising(made);
    expect_never_late(made, shown, 5);
    for (size_t i = 6; i < made.size(); i++) {
        EXPECT_EQ(made[i] - made[i - 1], kFrame) << "frame " << i;
    }
}

TEST(DecodeTimesTest, LostFramesMakeNoTimeLateOrFall) {
    std::minstd_rand random(7);
    DecodeTimes times(kClock);
    times.set_depth(1);
    std::vector<int64_t> shown = with_b_frames(500, 2);
    std::erase_if(shown, [&random](int64_t) { return random() % 10 == 0; });
    const std::vector<int64_t> made = times_of(times, shown);
    expect_rising(made);
    expect_never_late(made, shown);
    EXPECT_EQ(times.depth(), 1U);
    EXPECT_GE(made.back(), shown.back() - 6 * kFrame);  // nor does the delay grow
}

TEST(DecodeTimesTest, AJumpIsANewBeginning) {
    DecodeTimes times(kClock);
    times.set_depth(1);
    times_of(times, with_b_frames(10, 2));
    for (const int64_t first : {int64_t{900'000'000}, int64_t{5'000}}) {
        const std::vector<int64_t> shown = with_b_frames(10, 2, first);
        const std::vector<int64_t> made = times_of(times, shown);
        expect_rising(made);
        expect_never_late(made, shown);
        EXPECT_GE(made.front(), first - kFrame);
    }
}

// A camera without B-frames that is set back by less than the pictures that are remembered.
TEST(DecodeTimesTest, AStepBackOfAPictureThatCannotBeReorderedIsANewBeginning) {
    DecodeTimes times(kClock);
    for (int i = 0; i < 50; i++) {
        const int64_t shown = 1'000'000 + (i < 25 ? i : i - 8) * kFrame;
        EXPECT_EQ(times.next(shown, false), shown) << i;
    }
    EXPECT_EQ(times.depth(), 0U);
}

TEST(DecodeTimesTest, NoMoreFramesAreReorderedThanTheEncoderNames) {
    DecodeTimes times(kClock);
    times.set_depth(2);
    times_of(times, with_b_frames(40, 2));
    times_of(times, with_b_frames(40, 2, 40 * kFrame - 10 * kFrame));
    EXPECT_EQ(times.depth(), 2U);
}

TEST(DecodeTimesTest, ClearKeepsTheDepth) {
    DecodeTimes times(kClock);
    times_of(times, with_b_frames(3, 2));
    times.clear();
    EXPECT_EQ(times.depth(), 1U);
    const std::vector<int64_t> shown = with_b_frames(3, 2, 5);
    const std::vector<int64_t> made = times_of(times, shown);
    expect_rising(made);
    expect_never_late(made, shown);
}

TEST(DecodeTimesTest, TheDepthHasABound) {
    DecodeTimes times(kClock);
    times.set_depth(1'000);
    EXPECT_EQ(times.depth(), DecodeTimes::kMaxDepth);
    // Times in falling order ask for ever more.
    DecodeTimes falling(kClock);
    int64_t last = INT64_MIN;
    for (int64_t shown = 100'000; shown > 0; shown -= 100) {
        const int64_t time = falling.next(shown);
        EXPECT_GT(time, last);
        last = time;
    }
    EXPECT_EQ(falling.depth(), DecodeTimes::kMaxDepth);
    // Frames in order come back to rising times that are never late.
    std::vector<int64_t> shown;
    for (int i = 0; i < 100; i++) {
        shown.push_back(200'000 + i * kFrame);
    }
    expect_never_late(times_of(falling, shown), shown, 20);
}

// Whatever a source sends, a frame's two times are not far from each other.
TEST(DecodeTimesTest, TimesThatFallForeverDoNotLeaveThemBehind) {
    DecodeTimes times(kClock);
    int64_t shown = 0;
    for (int i = 0; i < 10'000; i++) {
        shown -= 2 * kClock;
        const int64_t ahead = shown - times.next(shown);
        EXPECT_GE(ahead, -DecodeTimes::kMaxStepSeconds * int64_t{kClock} - 1);
        EXPECT_LE(ahead, int64_t{kClock});
    }
}

TEST(DecodeTimesTest, WhateverComesTheyRise) {
    std::minstd_rand random(11);
    for (int round = 0; round < 50; round++) {
        DecodeTimes times(kClock);
        int64_t last = INT64_MIN;
        int64_t base = 0;
        for (int i = 0; i < 400; i++) {
            base += kFrame;
            const int64_t shown = base + static_cast<int64_t>(random() % 100'000);
            const int64_t time = times.next(shown);
            EXPECT_GT(time, last);
            last = time;
        }
    }
}

}  // namespace
}  // namespace weir::media
