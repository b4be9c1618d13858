// What is passed on of a publisher's wall clock: right ones, wrong ones, and those that step.
#include "stream/publisher_clock.h"

#include <gtest/gtest.h>

namespace weir::stream {
namespace {

using News = PublisherClock::News;
using State = PublisherClock::State;

constexpr int64_t kSecondUs = 1'000'000;
constexpr int64_t kYearUs = 365 * 86'400 * kSecondUs;
constexpr int64_t kServerUs = 1'800'000'000 * kSecondUs;  // 2027

class PublisherClockTest : public testing::Test {
  protected:
    PublisherClockTest() { clock_.await(MonoTime(Seconds(1'000))); }

    // A report so many seconds after the first one, from a clock that is so far ahead of ours.
    News report(int64_t at_s, int64_t ahead_us) {
        const int64_t at_us = at_s * kSecondUs;
        return clock_.take({.time_us = kSecondUs + at_us,
                            .publisher_us = kServerUs + at_us + ahead_us,
                            .server_us = kServerUs + at_us},
                           MonoTime(Seconds(1'000 + at_s)));
    }

    PublisherClock clock_;
};

TEST_F(PublisherClockTest, AClockThatIsOffIsPassedOn) {
    EXPECT_EQ(clock_.state(), State::kAwaited);
    EXPECT_EQ(clock_.offset_us(), std::nullopt);
    EXPECT_EQ(report(0, -26 * kYearUs), News::kBegun) << "2001";
    EXPECT_EQ(clock_.state(), State::kUsed);
    EXPECT_EQ(clock_.offset_us(), kServerUs - 26 * kYearUs - kSecondUs);
    EXPECT_EQ(clock_.ahead_us(), -26 * kYearUs);
    EXPECT_EQ(report(5, -26 * kYearUs), News::kNothing);
    EXPECT_EQ(clock_.changes(), 0U);
}

TEST_F(PublisherClockTest, IsAwaitedForAWhileOnly) {
    const MonoTime since{Seconds(1'000)};
    EXPECT_TRUE(clock_.awaited(since));
    EXPECT_FALSE(clock_.awaited(since + PublisherClock::kMaxWait));
    report(0, -kServerUs);
    EXPECT_FALSE(clock_.awaited(since)) << "the server's counts";
}

TEST_F(PublisherClockTest, IsRelatedToTheTimelineOfItsStream) {
    media::Timeline timeline;
    report(0, 0);
    EXPECT_EQ(clock_.wall_offset_us(timeline), std::nullopt);
    const int64_t time_ms = timeline.map(media::TrackKind::kVideo, 1'000, MonoTime(Seconds(1'000)));
    EXPECT_EQ(clock_.wall_offset_us(timeline), kServerUs - time_ms * 1000);
    report(1'000, -kServerUs);
    EXPECT_EQ(clock_.wall_offset_us(timeline), std::nullopt) << "1970";
}

TEST_F(PublisherClockTest, NobodyWhoWasNotAskedIsHeard) {
    PublisherClock clock;
    EXPECT_EQ(clock.take({0, kServerUs, kServerUs}, MonoTime(Seconds(1))), News::kNothing);
    EXPECT_EQ(clock.state(), State::kNone);
}

TEST_F(PublisherClockTest, DatesThatCannotBeAreRefusedUntilTheyAreRight) {
    EXPECT_EQ(report(0, -kServerUs), News::kRefused) << "1970";
    EXPECT_EQ(report(5, -kServerUs), News::kNothing) << "one line of the log is enough";
    EXPECT_EQ(clock_.offset_us(), std::nullopt);
    EXPECT_EQ(clock_.ahead_us(), -kServerUs);
    EXPECT_EQ(report(10, 0), News::kBegun) << "the camera has asked a time server";
    EXPECT_TRUE(clock_.offset_us());
    EXPECT_EQ(clock_.changes(), 1U);
}

TEST_F(PublisherClockTest, ADayAheadIsTheMost) {
    const int64_t most_us = PublisherClock::kMaxAhead.count();
    EXPECT_EQ(report(0, most_us), News::kBegun);
    EXPECT_EQ(report(100, most_us + 1), News::kRefused);
}

TEST_F(PublisherClockTest, TheFirstDateIsThatOfTwoThousandAndOne) {
    EXPECT_EQ(report(0, PublisherClock::kEarliestUs - 1 - kServerUs), News::kRefused);
    EXPECT_EQ(report(100, PublisherClock::kEarliestUs - 100 * kSecondUs - kServerUs), News::kBegun);
}

TEST_F(PublisherClockTest, SmallCorrectionsAreFollowedWithoutAWord) {
    report(0, 0);
    EXPECT_EQ(report(5, -999'999), News::kNothing);
    EXPECT_EQ(clock_.offset_us(), kServerUs - kSecondUs - 999'999);
    EXPECT_EQ(clock_.changes(), 0U);
}

TEST_F(PublisherClockTest, AStepIsTold) {
    report(0, 0);
    EXPECT_EQ(report(5, kSecondUs), News::kStepped);
    EXPECT_EQ(clock_.offset_us(), kServerUs) << "the new time counts";
    EXPECT_EQ(report(10, kSecondUs), News::kNothing);
    EXPECT_EQ(clock_.changes(), 1U);
}

TEST_F(PublisherClockTest, AClockThatStepsAgainAndAgainIsNotUsedAnyMore) {
    report(0, 0);
    EXPECT_EQ(report(5, 3'600 * kSecondUs), News::kStepped);
    EXPECT_EQ(report(10, 0), News::kStepped);
    EXPECT_EQ(report(15, 3'600 * kSecondUs), News::kRefused);
    EXPECT_TRUE(clock_.unsteady());
    EXPECT_EQ(clock_.offset_us(), std::nullopt);
    for (int64_t at_s = 20; at_s < 1'000; at_s += 5) {
        EXPECT_EQ(report(at_s, 0), News::kNothing) << "and the log is not filled";
    }
    EXPECT_EQ(clock_.offset_us(), std::nullopt);
}

TEST_F(PublisherClockTest, AStepNowAndThenIsFollowedForEver) {
    report(0, 0);
    for (int64_t i = 1; i <= 50; i++) {
        EXPECT_EQ(report(i * 60, i % 2 * 2 * kSecondUs), News::kStepped) << i;
    }
    EXPECT_EQ(clock_.state(), State::kUsed);
    EXPECT_EQ(clock_.changes(), 50U);
}

}  // namespace
}  // namespace weir::stream
