#include "proto/srtp/protector.h"

#include <gtest/gtest.h>

#include "base/object_count.h"

#include "test/proto/srtp/support.h"

namespace weir::srtp {
namespace {

constexpr uint32_t kSsrc = 0xCAFE0001;

class ProtectorTest : public ::testing::TestWithParam<Profile> {
  protected:
    Bytes protect_rtp(const Bytes& packet, uint64_t index) {
        Bytes out = packet;
        out.resize(packet.size() + rtp_overhead(GetParam()));
        const size_t size = protector_.protect_rtp(out, packet.size(), index);
        out.resize(size);
        return out;
    }

    Bytes protect_rtcp(const Bytes& packet) {
        Bytes out = packet;
        out.resize(packet.size() + rtcp_overhead(GetParam()));
        out.resize(protector_.protect_rtcp(out, packet.size()));
        return out;
    }

    ControlCipher control_;
    Protector protector_{GetParam(), test_key(), control_};
    Oracle sender_{GetParam(), test_key(), Oracle::Role::kSender};
};

INSTANTIATE_TEST_SUITE_P(, ProtectorTest, ::testing::ValuesIn(kProfiles), [](const auto& tested) {
    return name_of(tested.param);
});

TEST_P(ProtectorTest, GivesTheBytesOfLibsrtp) {
    uint16_t sequence = 100;
    for (size_t payload : {0u, 1u, 15u, 16u, 17u, 160u, 1100u, 1188u}) {
        for (unsigned csrcs : {0u, 2u, 15u}) {
            for (int extension : {-1, 0, 1, 5}) {
                const Bytes packet =
                    rtp_packet(sequence, kSsrc, payload, static_cast<uint8_t>(csrcs), extension);
                ASSERT_EQ(protect_rtp(packet, sequence), sender_.protect_rtp(packet)) << payload;
                sequence++;
            }
        }
    }
}

TEST_P(ProtectorTest, GivesTheBytesOfLibsrtpOverRollOvers) {
    for (uint64_t index = 65000; index < 400'000;) {
        const Bytes packet =
            rtp_packet(static_cast<uint16_t>(index), kSsrc, index % 9 == 0 ? 1000 : 4);
        ASSERT_EQ(protect_rtp(packet, index), sender_.protect_rtp(packet)) << index;
        index += (index + 500) % 65536 < 1000 ? 1U : 500U;  // each packet around a roll-over
    }
}

TEST_P(ProtectorTest, GivesTheBytesOfLibsrtpAtTheLastRollOverCounter) {
    sender_.protect_rtp(rtp_packet(9, kSsrc, 1));
    sender_.set_roll_over(kSsrc, 0xFFFF'FFFF);
    const Bytes packet = rtp_packet(10, kSsrc, 500);
    EXPECT_EQ(protect_rtp(packet, 0xFFFF'FFFF'000A), sender_.protect_rtp(packet));
}

TEST_P(ProtectorTest, TakesTheIndexThatItIsGivenWhenAPacketIsResent) {
    const Bytes old = rtp_packet(65535, kSsrc, 100);
    const Bytes first = protect_rtp(old, 65535);
    protect_rtp(rtp_packet(0, kSsrc, 100), 65536);
    EXPECT_EQ(protect_rtp(old, 65535), first);
}

TEST_P(ProtectorTest, KeepsSsrcsApart) {
    for (uint32_t ssrc : {1u, 2u, 0xFFFF'FFFFu}) {
        const Bytes packet = rtp_packet(7, ssrc, 50);
        EXPECT_EQ(protect_rtp(packet, 7), sender_.protect_rtp(packet));
    }
}

TEST_P(ProtectorTest, JoinsThePiecesOfAPacket) {
    for (size_t prefix : {0u, 2u, 3u, 17u}) {
        for (size_t payload : {0u, 1u, 14u, 1000u}) {
            const Bytes packet = rtp_packet(3, kSsrc, prefix + payload, 1, 2);
            const ByteSpan all(packet);
            const size_t header = rtp_header_size(all);
            Bytes out(packet.size() + rtp_overhead(GetParam()));
            const RtpPieces pieces{all.first(header), all.subspan(header, prefix),
                                   all.subspan(header + prefix)};
            ASSERT_EQ(protector_.protect_rtp(pieces, 3, out), out.size());
            EXPECT_EQ(out, protect_rtp(packet, 3));
        }
    }
}

TEST_P(ProtectorTest, RefusesWhatIsNoRtpPacket) {
    const Bytes packet = rtp_packet(3, kSsrc, 0, 2, 3);
    for (size_t size = 0; size < packet.size(); size++) {
        EXPECT_TRUE(
            protect_rtp({packet.begin(), packet.begin() + static_cast<long>(size)}, 3).empty())
            << size;
    }
    EXPECT_FALSE(protect_rtp(packet, 3).empty());
    Bytes other = packet;
    other[0] = 0x40;
    EXPECT_TRUE(protect_rtp(other, 3).empty());
}

TEST_P(ProtectorTest, RefusesAnIndexThatIsNotThatOfThePacket) {
    const Bytes packet = rtp_packet(3, kSsrc, 10);
    EXPECT_TRUE(protect_rtp(packet, 4).empty());
    EXPECT_TRUE(protect_rtp(packet, uint64_t{1} << 48 | 3).empty());
    EXPECT_FALSE(protect_rtp(packet, 0xABCD'0003).empty());
}

TEST_P(ProtectorTest, RefusesABufferWithoutRoomForTheTag) {
    const Bytes packet = rtp_packet(3, kSsrc, 10);
    Bytes out = packet;
    out.resize(packet.size() + rtp_overhead(GetParam()) - 1);
    EXPECT_EQ(protector_.protect_rtp(out, packet.size(), 3), 0u);
    EXPECT_EQ(protector_.protect_rtp(out, out.size() + 1, 3), 0u);
    Bytes report = rtcp_packet(kSsrc, 32);
    report.resize(32 + rtcp_overhead(GetParam()) - 1);
    EXPECT_EQ(protector_.protect_rtcp(report, 32), 0u);
    EXPECT_EQ(protector_.protect_rtcp(report, 7), 0u);
}

TEST_P(ProtectorTest, GivesTheRtcpBytesOfLibsrtp) {
    for (size_t size : {8u, 12u, 28u, 32u, 36u, 400u, 1200u}) {
        const Bytes packet = rtcp_packet(kSsrc, size);
        ASSERT_EQ(protect_rtcp(packet), sender_.protect_rtcp(packet)) << size;
    }
}

TEST_P(ProtectorTest, CountsRtcpOfAllSsrcsTogether) {
    Oracle receiver(GetParam(), test_key(), Oracle::Role::kReceiver);
    for (uint32_t i = 0; i < 20; i++) {
        const Bytes packet = rtcp_packet(i % 3, 28);
        EXPECT_EQ(receiver.unprotect_rtcp(protect_rtcp(packet)), packet);
    }
}

TEST_P(ProtectorTest, SharesTheControlCipherWithOtherSessions) {
    Protector other(GetParam(), test_key(2), control_);
    Oracle other_sender(GetParam(), test_key(2), Oracle::Role::kSender);
    for (int i = 0; i < 3; i++) {
        const Bytes packet = rtcp_packet(kSsrc, 64);
        EXPECT_EQ(protect_rtcp(packet), sender_.protect_rtcp(packet));
        Bytes out = packet;
        out.resize(packet.size() + kMaxOverhead);
        out.resize(other.protect_rtcp(out, packet.size()));
        EXPECT_EQ(out, other_sender.protect_rtcp(packet));
    }
}

TEST_P(ProtectorTest, CountsTheContextOfRtpWhenItIsMade) {
    const ObjectClass* counts = find_object_class("srtp_protector");
    ASSERT_NE(counts, nullptr);
    const uint64_t before = counts->bytes();
    {
        Protector one(GetParam(), test_key(), control_);
        EXPECT_EQ(counts->bytes(), before + sizeof one);
        Bytes out = rtp_packet(1, kSsrc, 100);
        out.resize(200);
        EXPECT_NE(one.protect_rtp(out, 112, 1), 0u);
        EXPECT_EQ(counts->bytes(), before + sizeof one + Aes::kHeapBytes);
    }
    EXPECT_EQ(counts->bytes(), before);
}

}  // namespace
}  // namespace weir::srtp
