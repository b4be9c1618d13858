#include "proto/rtp/nack_tracker.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/proto/rtp/packets.h"

namespace weir::rtp {
namespace {

using test::kStart;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Micros kRtt = Millis(80);
constexpr Micros kReorder = Millis(10);

std::vector<uint16_t> due(NackTracker& tracker, MonoTime now) {
    std::array<uint16_t, 64> out{};
    const size_t count = tracker.take_due(now, kRtt, kReorder, out);
    return {out.begin(), out.begin() + static_cast<ptrdiff_t>(count)};
}

TEST(NackTrackerTest, AsksAfterTheReorderDelayAndThenEachRoundTrip) {
    NackTracker tracker;
    ASSERT_TRUE(tracker.add(5, 7, kStart));
    EXPECT_THAT(due(tracker, kStart + Millis(9)), IsEmpty());
    EXPECT_EQ(tracker.next_due(kRtt, kReorder), kStart + kReorder);
    EXPECT_THAT(due(tracker, kStart + Millis(10)), ElementsAre(5, 6));
    EXPECT_THAT(due(tracker, kStart + Millis(10)), IsEmpty());
    // A round trip, an eighth of it and 5 ms later.
    EXPECT_EQ(tracker.next_due(kRtt, kReorder), kStart + Millis(105));
    EXPECT_THAT(due(tracker, kStart + Millis(104)), IsEmpty());
    EXPECT_THAT(due(tracker, kStart + Millis(105)), ElementsAre(5, 6));
    EXPECT_EQ(tracker.requests(), 4u);
}

TEST(NackTrackerTest, PausesGrowFromTheFourthRequestOnAndThenItStops) {
    NackTracker tracker;
    ASSERT_TRUE(tracker.add(1, 2, kStart));
    std::vector<Micros> pauses;
    MonoTime last = kStart;
    while (const std::optional<MonoTime> at = tracker.next_due(kRtt, kReorder)) {
        ASSERT_THAT(due(tracker, *at), ElementsAre(1));
        pauses.push_back(*at - last);
        last = *at;
    }
    ASSERT_EQ(pauses.size(), NackTracker::kMaxRequests);
    EXPECT_EQ(pauses[1], Millis(95));
    EXPECT_EQ(pauses[3], Millis(95));
    EXPECT_EQ(pauses[4], Millis(190));
    EXPECT_EQ(pauses[5], Millis(285));
    EXPECT_EQ(tracker.size(), 1u);  // it may still come
}

TEST(NackTrackerTest, ForgetsWhatArrivesAndTellsHowOftenItWasAskedFor) {
    NackTracker tracker;
    ASSERT_TRUE(tracker.add(5, 8, kStart));
    EXPECT_EQ(tracker.remove(6)->requests, 0);
    EXPECT_FALSE(tracker.remove(6));
    EXPECT_FALSE(tracker.remove(4));
    EXPECT_THAT(due(tracker, kStart + kReorder), ElementsAre(5, 7));
    const std::optional<NackTracker::Found> found = tracker.remove(7);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->requests, 1);
    EXPECT_EQ(found->asked, kStart + kReorder);
    EXPECT_EQ(tracker.size(), 1u);
}

TEST(NackTrackerTest, ForgetsWhatIsGivenUp) {
    NackTracker tracker;
    ASSERT_TRUE(tracker.add(5, 8, kStart));
    ASSERT_TRUE(tracker.add(10, 12, kStart + Millis(1)));
    EXPECT_EQ(tracker.oldest(), kStart);
    tracker.forget_before(10);
    EXPECT_EQ(tracker.oldest(), kStart + Millis(1));
    EXPECT_THAT(due(tracker, kStart + Millis(20)), ElementsAre(10, 11));
    tracker.forget_before(100);
    EXPECT_FALSE(tracker.oldest());
    EXPECT_FALSE(tracker.next_due(kRtt, kReorder));
}

TEST(NackTrackerTest, HoldsNoMoreThanItsLimit) {
    NackTracker tracker;
    const auto limit = static_cast<int64_t>(NackTracker::kMaxMissing);
    ASSERT_TRUE(tracker.add(0, limit, kStart));
    EXPECT_FALSE(tracker.add(limit + 5, limit + 6, kStart));
    EXPECT_EQ(tracker.size(), NackTracker::kMaxMissing);
    ASSERT_TRUE(tracker.remove(17));
    EXPECT_TRUE(tracker.add(limit + 5, limit + 6, kStart));
    tracker.clear();
    EXPECT_FALSE(tracker.add(0, limit + 1, kStart));
    EXPECT_EQ(tracker.size(), 0u);
}

TEST(NackTrackerTest, GivesOutAsManyAsThereIsRoomForAndTheRestNext) {
    NackTracker tracker;
    ASSERT_TRUE(tracker.add(65'530, 65'540, kStart));
    std::array<uint16_t, 4> out{};
    const MonoTime now = kStart + Seconds(1);
    EXPECT_EQ(tracker.take_due(now, kRtt, kReorder, out), 4u);
    EXPECT_THAT(out, ElementsAre(65'530, 65'531, 65'532, 65'533));
    EXPECT_EQ(tracker.take_due(now, kRtt, kReorder, out), 4u);
    EXPECT_THAT(out, ElementsAre(65'534, 65'535, 0, 1));
    EXPECT_EQ(tracker.take_due(now, kRtt, kReorder, out), 2u);
    EXPECT_EQ(tracker.take_due(now, kRtt, kReorder, out), 0u);
}

}  // namespace
}  // namespace weir::rtp
