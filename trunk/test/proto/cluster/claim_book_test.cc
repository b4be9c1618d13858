#include "proto/cluster/claim_book.h"

#include <utility>

#include <gtest/gtest.h>

namespace weir::cluster {
namespace {

constexpr MonoTime kStart{Seconds(1000)};
const std::string kCam = "v/live/cam";

class ClaimBookTest : public testing::Test {
  protected:
    void hold(uint64_t epoch, MonoTime now = kStart) {
        EXPECT_FALSE(book_.begin(kCam, false));
        book_.on_claimed(kCam, epoch, 1, now);
    }

    void publish(uint64_t epoch) {
        hold(epoch);
        book_.on_publish(kCam);
        book_.give_up(kCam);
    }

    ClaimBook book_;
};

TEST_F(ClaimBookTest, AClaimIsHeldOnceItIsAnswered) {
    EXPECT_FALSE(book_.begin(kCam, false));
    EXPECT_FALSE(book_.epoch(kCam));
    EXPECT_EQ(book_.size(), 0U);
    book_.on_claimed(kCam, 7, 1, kStart);
    EXPECT_EQ(book_.epoch(kCam), 7U);
    EXPECT_TRUE(book_.begin(kCam, true)) << "nothing to ask any more";
    EXPECT_EQ(book_.size(), 1U);
}

TEST_F(ClaimBookTest, ARefusedOneLeavesNothing) {
    EXPECT_FALSE(book_.begin(kCam, false));
    book_.on_refused(kCam);
    EXPECT_FALSE(book_.epoch(kCam));
    EXPECT_FALSE(book_.has_releases());
    EXPECT_FALSE(book_.begin(kCam, false)) << "it is asked for anew";
}

TEST_F(ClaimBookTest, WhoeverDoesNotPublishGivesItUp) {
    hold(7);
    book_.give_up(kCam);
    EXPECT_FALSE(book_.epoch(kCam));
    const auto releases = book_.take_releases(10);
    ASSERT_EQ(releases.size(), 1U);
    EXPECT_EQ(releases[0].stream, kCam);
    EXPECT_EQ(releases[0].epoch, 7U);
    EXPECT_FALSE(book_.has_releases());
}

TEST_F(ClaimBookTest, APublishedOneEndsWithItsPublisher) {
    publish(7);
    EXPECT_EQ(book_.epoch(kCam), 7U);
    book_.give_up(kCam);  // nobody has a place any more
    EXPECT_EQ(book_.epoch(kCam), 7U);
    book_.on_unpublish(kCam);
    EXPECT_FALSE(book_.epoch(kCam));
    EXPECT_TRUE(book_.has_releases());
}

TEST_F(ClaimBookTest, StaysWhileSomebodyElseHasAPlace) {
    publish(7);
    EXPECT_TRUE(book_.begin(kCam, false));
    book_.on_unpublish(kCam);
    EXPECT_EQ(book_.epoch(kCam), 7U);
    book_.give_up(kCam);
    EXPECT_FALSE(book_.epoch(kCam));
}

TEST_F(ClaimBookTest, AnAnswerThatNobodyWaitsForIsReleased) {
    EXPECT_FALSE(book_.begin(kCam, false));
    book_.give_up(kCam);
    book_.on_claimed(kCam, 9, 1, kStart);
    EXPECT_FALSE(book_.epoch(kCam));
    EXPECT_EQ(book_.take_releases(10).at(0).epoch, 9U);
}

TEST_F(ClaimBookTest, OfTwoAnswersTheHigherEpochCounts) {
    EXPECT_FALSE(book_.begin(kCam, false));
    EXPECT_FALSE(book_.begin(kCam, false));
    book_.on_claimed(kCam, 8, 1, kStart);
    book_.on_claimed(kCam, 7, 1, kStart);
    EXPECT_EQ(book_.epoch(kCam), 8U);
}

TEST_F(ClaimBookTest, AClaimIsDueEachPeriod) {
    publish(7);
    EXPECT_TRUE(book_.due(kStart + kRenewPeriod - Millis(1), 10).empty());
    EXPECT_EQ(book_.next_due(), kStart + kRenewPeriod);
    const MonoTime later = kStart + kRenewPeriod;
    const auto due = book_.due(later, 10);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].epoch, 7U);
    EXPECT_FALSE(due[0].provisional);
    EXPECT_TRUE(book_.due(later, 10).empty()) << "once";
    book_.on_renewed(kCam, 7, later);
    EXPECT_EQ(book_.next_due(), later + kRenewPeriod);
}

TEST_F(ClaimBookTest, AllAreDueWhenTheRegistryIsBackWithTheirOldEpochs) {
    publish(7);
    EXPECT_FALSE(book_.begin("v/live/b", false));
    book_.on_claimed("v/live/b", 8, 1, kStart);
    book_.renew_all(kStart);
    const auto due = book_.due(kStart, 10);
    ASSERT_EQ(due.size(), 2U);
    EXPECT_EQ(due[0].epoch + due[1].epoch, 15U);
    book_.renew_all(kStart);
    EXPECT_EQ(book_.due(kStart, 1).size(), 1U) << "at most so many";
    EXPECT_EQ(book_.due(kStart, 10).size(), 1U);
}

TEST_F(ClaimBookTest, WhatWasAcceptedWithoutTheRegistryIsClaimedLater) {
    EXPECT_FALSE(book_.begin(kCam, true));
    book_.on_unknown(kCam, 50, 1);
    EXPECT_EQ(book_.epoch(kCam), 50U);
    EXPECT_EQ(book_.provisional(), 1U);
    book_.on_publish(kCam);
    book_.give_up(kCam);
    const auto due = book_.due(kStart, 10);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_TRUE(due[0].provisional);
    EXPECT_TRUE(due[0].takeover);
    EXPECT_EQ(due[0].epoch, 50U);
    book_.on_claimed(kCam, 60, 1, kStart);
    EXPECT_EQ(book_.provisional(), 0U);
    EXPECT_EQ(book_.epoch(kCam), 60U);
}

TEST_F(ClaimBookTest, AProvisionalOneThatEndsIsReleasedWhateverItsEpoch) {
    EXPECT_FALSE(book_.begin(kCam, false));
    book_.on_unknown(kCam, 50, 1);
    book_.give_up(kCam);
    EXPECT_EQ(book_.take_releases(10).at(0).epoch, 0U);
}

TEST_F(ClaimBookTest, ALostOneEndsItsPublisherOnce) {
    publish(7);
    EXPECT_FALSE(book_.on_lost(kCam, 6)) << "an answer to a claim before ours";
    EXPECT_EQ(book_.epoch(kCam), 7U);
    EXPECT_TRUE(book_.on_lost(kCam, 9));
    EXPECT_FALSE(book_.epoch(kCam));
    EXPECT_FALSE(book_.on_lost(kCam, 9));
    book_.on_unpublish(kCam);
    EXPECT_FALSE(book_.has_releases()) << "it is the other node's";
}

TEST_F(ClaimBookTest, WhoLostItBeforePublishingAsksAgainWhenItDoes) {
    hold(7);
    EXPECT_FALSE(book_.on_lost(kCam, 9));
    EXPECT_TRUE(book_.due(kStart + kRenewPeriod * 2, 10).empty());
    book_.on_publish(kCam);
    const auto due = book_.due(kStart, 10);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_TRUE(due[0].provisional);
    EXPECT_TRUE(book_.on_lost(kCam, 9)) << "the claim is refused: its publisher ends";
}

TEST_F(ClaimBookTest, ANewClaimGoesBeforeAReleaseThatWasNotSaid) {
    publish(7);
    book_.on_unpublish(kCam);
    EXPECT_FALSE(book_.begin(kCam, false));
    EXPECT_FALSE(book_.has_releases());
}

TEST_F(ClaimBookTest, ReleasesThatCouldNotBeSaidComeAgainUnlessClaimedSince) {
    publish(7);
    book_.on_unpublish(kCam);
    auto releases = book_.take_releases(10);
    book_.put_back({releases.begin(), releases.end()});
    EXPECT_TRUE(book_.has_releases());
    releases = book_.take_releases(10);
    EXPECT_FALSE(book_.begin(kCam, false));
    book_.put_back(std::move(releases));
    EXPECT_FALSE(book_.has_releases());
}

TEST_F(ClaimBookTest, WhatWasReleasedLatelyIsReleasedAgainWhereTheRegistryMayBeBehind) {
    publish(7);
    book_.on_unpublish(kCam);
    book_.on_released(book_.take_releases(10), kStart);
    EXPECT_FALSE(book_.has_releases());
    const MonoTime end = kStart + kReleaseMemory;
    book_.renew_all(end - Millis(1));
    auto releases = book_.take_releases(10);
    ASSERT_EQ(releases.size(), 1U);
    EXPECT_EQ(releases[0].epoch, 7U);
    book_.on_released(std::move(releases), end - Millis(1));
    book_.renew_all(end);
    EXPECT_FALSE(book_.has_releases()) << "no record lasts for longer";
}

TEST_F(ClaimBookTest, WhatWasClaimedAgainIsNotReleasedAgain) {
    publish(7);
    book_.on_unpublish(kCam);
    book_.on_released(book_.take_releases(10), kStart);
    publish(9);
    book_.renew_all(kStart + Millis(1));
    EXPECT_FALSE(book_.has_releases());
    book_.on_unpublish(kCam);
    EXPECT_EQ(book_.take_releases(10).at(0).epoch, 9U);
}

TEST_F(ClaimBookTest, ReleasesThatAreRememberedAreBoundedAndForgotten) {
    const auto end_some = [this](size_t first, size_t count, MonoTime now) {
        std::vector<ClaimBook::Release> some;
        for (size_t i = first; i < first + count; i++) {
            some.push_back({std::to_string(i), i + 1});
        }
        book_.on_released(std::move(some), now);
    };
    end_some(0, kMaxReleases + 10, kStart);
    book_.renew_all(kStart);
    EXPECT_EQ(book_.take_releases(2 * kMaxReleases).size(), kMaxReleases);
    end_some(kMaxReleases, 5, kStart + kReleaseMemory);
    book_.renew_all(kStart + kReleaseMemory);
    EXPECT_EQ(book_.take_releases(2 * kMaxReleases).size(), 5U) << "there is room again";
}

TEST_F(ClaimBookTest, ReleasesThatWaitAreBounded) {
    for (size_t i = 0; i < kMaxReleases + 10; i++) {
        const std::string name = "v/live/" + std::to_string(i);
        EXPECT_FALSE(book_.begin(name, false));
        book_.on_claimed(name, 1, 1, kStart);
        book_.give_up(name);
    }
    EXPECT_EQ(book_.take_releases(2 * kMaxReleases).size(), kMaxReleases);
}

TEST_F(ClaimBookTest, StreamsThatWereNotClaimedAreNobodysBusiness) {
    book_.on_publish(kCam);
    book_.on_unpublish(kCam);
    book_.on_renewed(kCam, 7, kStart);
    EXPECT_FALSE(book_.on_lost(kCam, 7));
    EXPECT_FALSE(book_.has_releases());
    EXPECT_FALSE(book_.next_due());
}

}  // namespace
}  // namespace weir::cluster
