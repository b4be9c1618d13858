#include "proto/srtp/unprotector.h"

#include <gtest/gtest.h>

#include "proto/srtp/protector.h"

#include "test/proto/srtp/support.h"

namespace weir::srtp {
namespace {

constexpr uint32_t kSsrc = 0xCAFE0001;

class UnprotectorTest : public ::testing::TestWithParam<Profile> {
  protected:
    Bytes seal(uint64_t index, uint32_t ssrc = kSsrc, size_t payload = 200) {
        Bytes packet = rtp_packet(static_cast<uint16_t>(index), ssrc, payload);
        const size_t size = packet.size();
        packet.resize(size + kMaxOverhead);
        packet.resize(protector_.protect_rtp(packet, size, index));
        return packet;
    }

    Bytes seal_rtcp(uint32_t ssrc = kSsrc) {
        Bytes packet = rtcp_packet(ssrc, 32);
        packet.resize(32 + kMaxOverhead);
        packet.resize(protector_.protect_rtcp(packet, 32));
        return packet;
    }

    ControlCipher control_;
    Protector protector_{GetParam(), test_key(), control_};
    std::unique_ptr<Unprotector> unprotector_ = *Unprotector::create(GetParam(), test_key());
};

INSTANTIATE_TEST_SUITE_P(, UnprotectorTest, ::testing::ValuesIn(kProfiles), [](const auto& tested) {
    return name_of(tested.param);
});

TEST_P(UnprotectorTest, OpensInPlaceWhatWasProtected) {
    for (uint64_t index = 65000; index < 66000; index++) {
        Bytes packet = seal(index);
        const Unprotected result = unprotector_->unprotect_rtp(packet);
        ASSERT_TRUE(result.ok()) << index;
        packet.resize(result.size);
        EXPECT_EQ(packet, rtp_packet(static_cast<uint16_t>(index), kSsrc, 200));
    }
    Bytes report = seal_rtcp();
    const Unprotected result = unprotector_->unprotect_rtcp(report);
    ASSERT_TRUE(result.ok());
    report.resize(result.size);
    EXPECT_EQ(report, rtcp_packet(kSsrc, 32));
    EXPECT_EQ(unprotector_->sources(), 1u);
}

TEST_P(UnprotectorTest, RefusesReplaysAndWhatIsTooOld) {
    Bytes first = seal(100), copy = first, report = seal_rtcp(), report_copy = report;
    EXPECT_TRUE(unprotector_->unprotect_rtp(first).ok());
    EXPECT_EQ(unprotector_->unprotect_rtp(copy).status, Status::kReplayed);
    EXPECT_TRUE(unprotector_->unprotect_rtcp(report).ok());
    EXPECT_EQ(unprotector_->unprotect_rtcp(report_copy).status, Status::kReplayed);
    Bytes newer = seal(100 + Unprotector::kReplayWindow + 10), late = seal(105),
          in_time = seal(400);
    EXPECT_TRUE(unprotector_->unprotect_rtp(newer).ok());
    EXPECT_EQ(unprotector_->unprotect_rtp(late).status, Status::kReplayed);
    EXPECT_TRUE(unprotector_->unprotect_rtp(in_time).ok());
}

TEST_P(UnprotectorTest, RefusesEveryChangedByte) {
    const Bytes packet = seal(1, kSsrc, 20), report = seal_rtcp();
    for (size_t at = 0; at < packet.size(); at++) {
        Bytes changed = packet;
        changed[at] ^= 0x04;
        EXPECT_FALSE(unprotector_->unprotect_rtp(changed).ok()) << at;
    }
    for (size_t at = 0; at < report.size(); at++) {
        Bytes changed = report;
        changed[at] ^= 0x80;
        EXPECT_FALSE(unprotector_->unprotect_rtcp(changed).ok()) << at;
    }
    EXPECT_EQ(unprotector_->sources(), 0u);
}

TEST_P(UnprotectorTest, RefusesEveryTruncation) {
    const Bytes packet = seal(1, kSsrc, 20), report = seal_rtcp();
    for (size_t size = 0; size < packet.size(); size++) {
        Bytes cut(packet.begin(), packet.begin() + static_cast<long>(size));
        EXPECT_FALSE(unprotector_->unprotect_rtp(cut).ok()) << size;
    }
    for (size_t size = 0; size < report.size(); size++) {
        Bytes cut(report.begin(), report.begin() + static_cast<long>(size));
        EXPECT_FALSE(unprotector_->unprotect_rtcp(cut).ok()) << size;
    }
}

TEST_P(UnprotectorTest, BoundsTheSourcesAndForgedOnesCostNothing) {
    for (uint32_t ssrc = 0; ssrc < 100; ssrc++) {
        Bytes forged = seal(1, ssrc);
        forged.back() ^= 1;
        EXPECT_EQ(unprotector_->unprotect_rtp(forged).status, Status::kUnauthentic);
    }
    for (uint32_t ssrc = 0; ssrc < Unprotector::kMaxSources; ssrc++) {
        Bytes packet = seal(1, ssrc);
        EXPECT_TRUE(unprotector_->unprotect_rtp(packet).ok());
    }
    Bytes one_more = seal(1, 1000), report = seal_rtcp(1000), known = seal(2, 5);
    EXPECT_EQ(unprotector_->unprotect_rtp(one_more).status, Status::kTooManySources);
    EXPECT_EQ(unprotector_->unprotect_rtcp(report).status, Status::kTooManySources);
    EXPECT_TRUE(unprotector_->unprotect_rtp(known).ok());
}

TEST_P(UnprotectorTest, RefusesTheKeyOfAnother) {
    auto other = *Unprotector::create(GetParam(), test_key(2));
    Bytes packet = seal(1);
    EXPECT_EQ(other->unprotect_rtp(packet).status, Status::kUnauthentic);
}

TEST(StatusTest, HasANameForEach) {
    EXPECT_EQ(to_string(Status::kOk), "ok");
    EXPECT_EQ(to_string(Status::kMalformed), "malformed");
    EXPECT_EQ(to_string(Status::kReplayed), "replayed");
    EXPECT_EQ(to_string(Status::kUnauthentic), "unauthentic");
    EXPECT_EQ(to_string(Status::kTooManySources), "too_many_sources");
}

}  // namespace
}  // namespace weir::srtp
