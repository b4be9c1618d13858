#include "proto/rtp/rtx.h"

#include <array>

#include <gtest/gtest.h>

#include "test/proto/rtp/packets.h"

namespace weir::rtp {
namespace {

using test::kPayloadType;
using test::kRtxPayloadType;
using test::kRtxSsrc;
using test::kSsrc;

// An RTX packet (RFC 4588 §4): marker set, sequence 7, timestamp 0x01020304, one extension (id 3,
// two bytes) in the one-byte form, original sequence number 0xABCD, payload of three bytes.
const Bytes kRtxPacket = {0x90, 0xE1, 0x00, 0x07, 0x01, 0x02, 0x03, 0x04, 0x55,
                          0x66, 0x77, 0x88, 0xBE, 0xDE, 0x00, 0x01, 0x31, 0x10,
                          0x20, 0x00, 0xAB, 0xCD, 0xC1, 0xC2, 0xC3};

const Bytes kOriginal = {0x90, 0xE0, 0xAB, 0xCD, 0x01, 0x02, 0x03, 0x04, 0x11, 0x22, 0x33, 0x44,
                         0xBE, 0xDE, 0x00, 0x01, 0x31, 0x10, 0x20, 0x00, 0xC1, 0xC2, 0xC3};

Bytes unwrap(const Bytes& packet, size_t room = 1500) {
    const std::optional<PacketView> view = PacketView::parse(packet);
    if (!view) {
        return {};
    }
    Bytes out(room);
    out.resize(unwrap_rtx(packet, *view, kSsrc, kPayloadType, out));
    return out;
}

TEST(RtxTest, RestoresTheOriginalPacket) {
    EXPECT_EQ(rtx_original_sequence(*PacketView::parse(kRtxPacket)), 0xABCD);
    EXPECT_EQ(unwrap(kRtxPacket), kOriginal);
}

TEST(RtxTest, MakesTheRetransmission) {
    Bytes out(1500);
    out.resize(wrap_rtx(kOriginal, {kRtxPayloadType, false, 7, 0, kRtxSsrc}, out));
    EXPECT_EQ(out, kRtxPacket);
}

TEST(RtxTest, DropsPaddingBothWays) {
    Bytes padded = kRtxPacket;
    padded[0] |= 0x20;
    padded.insert(padded.end(), {0, 0, 3});
    EXPECT_EQ(unwrap(padded), kOriginal);
    padded = kOriginal;
    padded[0] |= 0x20;
    padded.insert(padded.end(), {1});
    Bytes out(1500);
    out.resize(wrap_rtx(padded, {kRtxPayloadType, false, 7, 0, kRtxSsrc}, out));
    EXPECT_EQ(out, kRtxPacket);
}

TEST(RtxTest, PaddingThatProbesCarriesNoOriginal) {
    const Bytes probe = test::make_packet({kRtxPayloadType, false, 7, 0, kRtxSsrc}, {});
    EXPECT_FALSE(rtx_original_sequence(*PacketView::parse(probe)));
    EXPECT_TRUE(unwrap(probe).empty());
    const Bytes short_one =
        test::make_packet({kRtxPayloadType, false, 7, 0, kRtxSsrc}, Bytes{0xAB});
    EXPECT_TRUE(unwrap(short_one).empty());
}

TEST(RtxTest, AnOriginalWithoutPayloadIsAHeader) {
    const Bytes packet =
        test::make_packet({kRtxPayloadType, false, 7, 0, kRtxSsrc}, Bytes{0x12, 0x34});
    const Bytes original = unwrap(packet);
    ASSERT_EQ(original.size(), kFixedHeaderSize);
    EXPECT_EQ(sequence_of(original.data()), 0x1234);
}

TEST(RtxTest, WritesNothingWithoutRoom) {
    for (size_t room = 0; room < kOriginal.size(); room++) {
        EXPECT_TRUE(unwrap(kRtxPacket, room).empty()) << room;
    }
    for (size_t room = 0; room < kRtxPacket.size(); room++) {
        Bytes out(room);
        EXPECT_EQ(wrap_rtx(kOriginal, {kRtxPayloadType, false, 7, 0, kRtxSsrc}, out), 0u) << room;
    }
    EXPECT_EQ(unwrap(kRtxPacket, kOriginal.size()), kOriginal);
}

TEST(RtxTest, TruncatedPacketsAreHarmless) {
    for (size_t size = 0; size < kRtxPacket.size(); size++) {
        const Bytes cut(kRtxPacket.begin(), kRtxPacket.begin() + static_cast<ptrdiff_t>(size));
        EXPECT_LT(unwrap(cut).size(), kOriginal.size());
        Bytes out(1500);
        wrap_rtx(cut, {kRtxPayloadType, false, 7, 0, kRtxSsrc}, out);
    }
}

}  // namespace
}  // namespace weir::rtp
