// Which datagrams of strangers go to which process, and when they do not.
#include "session/webrtc/rtc_passing.h"

#include <gtest/gtest.h>

namespace weir::session {
namespace {

using Verdict = RtcPassing::Verdict;

NetAddress peer(uint32_t number, uint16_t port = 5000) {
    return NetAddress::from_v4({10, static_cast<uint8_t>(number >> 16U),
                                static_cast<uint8_t>(number >> 8U), static_cast<uint8_t>(number)},
                               port);
}

class RtcPassingTest : public testing::Test {
  protected:
    Verdict check(const NetAddress& from, uint32_t process = 1) {
        return passing_.take_check(now_, from, process);
    }

    Verdict other(const NetAddress& from) { return passing_.take_other(now_, from, process_); }

    MonoTime now_{Seconds(1000)};
    RtcPassing passing_{42};
    uint32_t process_ = 99;
};

TEST_F(RtcPassingTest, WhatFollowsACheckGoesToTheSameProcess) {
    EXPECT_EQ(other(peer(1)), Verdict::kUnknown);
    EXPECT_EQ(check(peer(1), 2), Verdict::kPass);
    EXPECT_EQ(other(peer(1)), Verdict::kPass);
    EXPECT_EQ(process_, 2U);
    EXPECT_EQ(other(peer(1, 5001)), Verdict::kUnknown) << "another peer of that address";
    EXPECT_EQ(check(peer(1), 0), Verdict::kPass);
    EXPECT_EQ(other(peer(1)), Verdict::kPass);
    EXPECT_EQ(process_, 0U) << "the newest check counts";
}

TEST_F(RtcPassingTest, APeerIsForgottenSomeTimeAfterItsLastCheck) {
    check(peer(1));
    now_ += RtcPassing::kPeerLife;
    check(peer(2));
    EXPECT_EQ(other(peer(1)), Verdict::kPass);
    now_ += Millis(1);
    EXPECT_EQ(other(peer(1)), Verdict::kUnknown);
    EXPECT_EQ(other(peer(2)), Verdict::kPass);
    EXPECT_EQ(passing_.peers(), 1U);
}

TEST_F(RtcPassingTest, ACheckKeepsItsPeer) {
    check(peer(1));
    now_ += Seconds(20);
    check(peer(1));
    now_ += Seconds(20);
    EXPECT_EQ(other(peer(1)), Verdict::kPass);
}

TEST_F(RtcPassingTest, AProvenPeerGoesToWhoeverProvedIt) {
    check(peer(1), 1);
    passing_.correct(peer(1), 2);
    passing_.correct(peer(2), 2);
    EXPECT_EQ(other(peer(1)), Verdict::kPass);
    EXPECT_EQ(process_, 2U);
    EXPECT_EQ(other(peer(2)), Verdict::kUnknown) << "nobody has asked for it here";
}

TEST_F(RtcPassingTest, OneAddressCannotTakeTheChecksOfAll) {
    for (uint32_t i = 0; i < RtcPassing::kChecksPerAddress; i++) {
        ASSERT_EQ(check(peer(1, static_cast<uint16_t>(1 + i))), Verdict::kPass) << i;
    }
    EXPECT_EQ(check(peer(1, 60'000)), Verdict::kLimited);
    EXPECT_EQ(check(peer(2)), Verdict::kPass);
    now_ += Seconds(1);
    EXPECT_EQ(check(peer(1)), Verdict::kPass);
}

TEST_F(RtcPassingTest, ChecksAndPeersAreBounded) {
    uint32_t passed = 0;
    for (uint32_t i = 0; i < 2 * RtcPassing::kChecksPerSecond; i++) {
        passed += check(peer(i)) == Verdict::kPass ? 1U : 0U;
    }
    EXPECT_EQ(passed, RtcPassing::kChecksPerSecond);
    EXPECT_EQ(passing_.peers(), RtcPassing::kMaxPeers);
    EXPECT_EQ(other(peer(0)), Verdict::kUnknown) << "the oldest made room";
    EXPECT_EQ(other(peer(RtcPassing::kChecksPerSecond - 1)), Verdict::kPass);
}

TEST_F(RtcPassingTest, WhatFollowsIsBoundedForEachPeerAndForAll) {
    uint32_t passed = 0;
    for (uint32_t i = 0; i < 2 * RtcPassing::kDatagramsPerSecond / RtcPassing::kDatagramsPerPeer;
         i++) {
        check(peer(i));
        uint32_t of_peer = 0;
        for (uint32_t j = 0; j < RtcPassing::kDatagramsPerPeer + 10; j++) {
            of_peer += other(peer(i)) == Verdict::kPass ? 1U : 0U;
        }
        EXPECT_LE(of_peer, RtcPassing::kDatagramsPerPeer);
        passed += of_peer;
    }
    EXPECT_EQ(passed, RtcPassing::kDatagramsPerSecond);
    now_ += Seconds(1);
    EXPECT_EQ(other(peer(0)), Verdict::kPass);
}

}  // namespace
}  // namespace weir::session
