#include "proto/mpegts/packet.h"

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"
#include "test/support/transport_stream.h"

namespace weir::mpegts {
namespace {

using test::from_hex;

Bytes filled(std::string_view head) {
    Bytes bytes = from_hex(head);
    bytes.resize(kPacketSize, 0xFF);
    return bytes;
}

TEST(TsPacketTest, ReadsAPacketWithPayloadOnly) {
    const Bytes bytes = filled("47 4100 17");
    const auto packet = Packet::parse(bytes);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->pid, 0x100);
    EXPECT_TRUE(packet->unit_start);
    EXPECT_TRUE(packet->has_payload);
    EXPECT_EQ(packet->counter, 7);
    EXPECT_EQ(packet->payload.size(), kMaxPayload);
    EXPECT_FALSE(packet->transport_error || packet->scrambled || packet->discontinuity ||
                 packet->random_access || packet->pcr);
}

TEST(TsPacketTest, ReadsFlagsAndPcrOfTheAdaptationField) {
    // PCR: base 0x1_0000_0001 (33 bits), extension 299.
    const Bytes bytes = filled("47 0100 3f 07 d0 80000000 ff2b");
    const auto packet = Packet::parse(bytes);
    ASSERT_TRUE(packet);
    EXPECT_TRUE(packet->discontinuity);
    EXPECT_TRUE(packet->random_access);
    ASSERT_TRUE(packet->pcr);
    EXPECT_EQ(*packet->pcr, 0x1'0000'0001U * 300 + 299);
    EXPECT_EQ(packet->payload.size(), kMaxPayload - 8);
    EXPECT_EQ(packet->counter, 15);
}

TEST(TsPacketTest, APcrThatIsCutOffIsNone) {
    const auto packet = Packet::parse(filled("47 0100 30 06 10 80000000 ff"));
    ASSERT_TRUE(packet);
    EXPECT_FALSE(packet->pcr);
}

TEST(TsPacketTest, TheAdaptationFieldMayBeOneByteOrTheWholePacket) {
    const Bytes one_byte = filled("47 0100 30 00");
    EXPECT_EQ(Packet::parse(one_byte)->payload.size(), kMaxPayload - 1);
    const auto whole = Packet::parse(filled("47 0100 20 b7 00"));
    ASSERT_TRUE(whole);
    EXPECT_FALSE(whole->has_payload);
    EXPECT_TRUE(whole->payload.empty());
}

TEST(TsPacketTest, RefusesFieldsLongerThanThePacketAndTheReservedKind) {
    EXPECT_FALSE(Packet::parse(filled("47 0100 20 b8")));
    EXPECT_FALSE(Packet::parse(filled("47 0100 30 b7")));  // no byte of payload is left
    EXPECT_FALSE(Packet::parse(filled("47 0100 00")));
    EXPECT_TRUE(Packet::parse(filled("47 8100 00"))->transport_error);
}

TEST(TsPacketTest, ScramblingBitsAreSeen) {
    EXPECT_TRUE(Packet::parse(filled("47 0100 50"))->scrambled);
    EXPECT_TRUE(Packet::parse(filled("47 0100 d0"))->scrambled);
}

TEST(TsTimeUnwrapperTest, GoesOnOverAWrapAndBack) {
    TimeUnwrapper times;
    EXPECT_EQ(times.unwrap(kTimeMask - 10), static_cast<int64_t>(kTimeMask) - 10);
    EXPECT_EQ(times.unwrap(5), static_cast<int64_t>(kTimeMask) + 6);
    EXPECT_EQ(times.unwrap(kTimeMask), static_cast<int64_t>(kTimeMask));  // a B-frame
    EXPECT_EQ(times.unwrap(0), static_cast<int64_t>(kTimeMask) + 1);
}

TEST(TsTimeUnwrapperTest, AJumpIsTheShorterWay) {
    TimeUnwrapper times;
    times.unwrap(1000);
    EXPECT_EQ(times.unwrap(kTimeMask - 999), -1000);
    times.reset();
    EXPECT_EQ(times.unwrap(7), 7);
}

// A peer that only jumps ahead would leave 64 bits behind after 2^31 packets.
TEST(TsTimeUnwrapperTest, EndlessJumpsDoNotOverflow) {
    TimeUnwrapper times;
    constexpr uint64_t kJump = 0xFFFF'FFFF;
    uint64_t time = 0;
    int64_t highest = 0;
    for (int i = 0; i < 1'000'000; i++) {
        highest = std::max(highest, times.unwrap(time & kTimeMask));
        time += kJump;
    }
    EXPECT_GT(highest, int64_t{kJump} * 900'000);
    EXPECT_LT(highest, INT64_MAX / 2);
}

}  // namespace
}  // namespace weir::mpegts
