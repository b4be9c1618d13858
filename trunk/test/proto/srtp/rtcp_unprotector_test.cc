#include "proto/srtp/rtcp_unprotector.h"

#include <gtest/gtest.h>

#include "test/proto/srtp/support.h"

namespace weir::srtp {
namespace {

constexpr uint32_t kSsrc = 0xCAFE0001;

class RtcpUnprotectorTest : public ::testing::TestWithParam<Profile> {
  protected:
    Bytes seal(uint32_t ssrc = kSsrc, size_t size = 32) {
        return sender_.protect_rtcp(rtcp_packet(ssrc, size));
    }

    // Empty: refused; status_ says why.
    Bytes open(Bytes packet) {
        const Unprotected result = unprotector_.unprotect(packet);
        status_ = result.status;
        packet.resize(result.size);
        return packet;
    }

    ControlCipher control_;
    RtcpUnprotector unprotector_{GetParam(), test_key(), control_};
    Oracle sender_{GetParam(), test_key(), Oracle::Role::kSender};
    Status status_ = Status::kOk;
};

INSTANTIATE_TEST_SUITE_P(,
                         RtcpUnprotectorTest,
                         ::testing::ValuesIn(kProfiles),
                         [](const auto& tested) { return name_of(tested.param); });

TEST_P(RtcpUnprotectorTest, OpensWhatLibsrtpProtected) {
    for (size_t size : {8u, 12u, 28u, 32u, 36u, 400u, 1200u}) {
        EXPECT_EQ(open(seal(kSsrc, size)), rtcp_packet(kSsrc, size)) << size;
        EXPECT_EQ(status_, Status::kOk);
    }
}

TEST_P(RtcpUnprotectorTest, AgreesWithLibsrtpOnReorderedAndRepeatedPackets) {
    Oracle receiver(GetParam(), test_key(), Oracle::Role::kReceiver);
    std::vector<Bytes> sent;
    for (int i = 0; i < 400; i++) {
        sent.push_back(seal());
    }
    uint32_t random = 1;
    size_t newest = 0;
    for (int i = 0; i < 2000; i++) {
        random = random * 1664525 + 1013904223;
        const size_t at =
            std::min(sent.size() - 1,
                     newest + (random >> 20) % 3 - std::min(newest, size_t{random >> 24} % 160));
        ASSERT_EQ(open(sent[at]), receiver.unprotect_rtcp(sent[at])) << at;
        newest = std::max(newest, at);
    }
}

TEST_P(RtcpUnprotectorTest, RefusesEveryChangedByte) {
    const Bytes packet = seal();
    for (size_t at = 0; at < packet.size(); at++) {
        Bytes changed = packet;
        changed[at] ^= 0x80;  // of the trailer, this is the E bit
        EXPECT_TRUE(open(changed).empty()) << at;
    }
    EXPECT_EQ(open(packet), rtcp_packet(kSsrc, 32));
}

TEST_P(RtcpUnprotectorTest, RefusesEveryTruncation) {
    const Bytes packet = seal(kSsrc, 8);
    for (size_t size = 0; size < packet.size(); size++) {
        EXPECT_TRUE(open({packet.begin(), packet.begin() + static_cast<long>(size)}).empty())
            << size;
    }
}

TEST_P(RtcpUnprotectorTest, CountsEachSourceByItself) {
    Oracle other(GetParam(), test_key(), Oracle::Role::kSender);
    for (int i = 0; i < 5; i++) {
        EXPECT_FALSE(open(seal(1)).empty());
    }
    EXPECT_FALSE(open(other.protect_rtcp(rtcp_packet(2, 32))).empty());  // index 1 again
    EXPECT_TRUE(open(other.protect_rtcp(rtcp_packet(1, 32))).empty());
    EXPECT_EQ(status_, Status::kReplayed);
}

TEST_P(RtcpUnprotectorTest, BoundsTheSourcesAndForgedOnesCostNothing) {
    for (uint32_t ssrc = 0; ssrc < 100; ssrc++) {
        Bytes forged = seal(ssrc);
        forged[9] ^= 1;
        EXPECT_TRUE(open(forged).empty());
        EXPECT_EQ(status_, Status::kUnauthentic);
    }
    for (uint32_t ssrc = 0; ssrc < RtcpUnprotector::kMaxSources; ssrc++) {
        EXPECT_FALSE(open(seal(ssrc)).empty());
    }
    EXPECT_TRUE(open(seal(1000)).empty());
    EXPECT_EQ(status_, Status::kTooManySources);
    EXPECT_FALSE(open(seal(3)).empty());
}

TEST_P(RtcpUnprotectorTest, RefusesPlainPackets) {
    EXPECT_TRUE(open(rtcp_packet(kSsrc, 64)).empty());
    Bytes with_index = rtcp_packet(kSsrc, 64);
    with_index.resize(64 + rtcp_overhead(GetParam()));
    EXPECT_TRUE(open(with_index).empty());
    EXPECT_EQ(status_, Status::kMalformed);
}

TEST_P(RtcpUnprotectorTest, WeighsLessThanHalfAKilobyte) {
    EXPECT_LE(sizeof(RtcpUnprotector), 512u);
}

}  // namespace
}  // namespace weir::srtp
