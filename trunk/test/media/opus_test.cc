#include "media/opus.h"

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

namespace weir::media::opus {
namespace {

std::optional<uint32_t> samples(uint8_t config, uint8_t code, uint8_t count = 0) {
    return packet_samples(Bytes{static_cast<uint8_t>(config << 3 | code), count, 0});
}

TEST(OpusTest, KnowsTheLengthOfEachConfiguration) {
    // RFC 6716 table 2: SILK 10 to 60 ms, hybrid 10 and 20 ms, CELT 2.5 to 20 ms.
    for (uint8_t config : Bytes{0, 4, 8}) {
        EXPECT_EQ(samples(config, 0), 480U);
        EXPECT_EQ(samples(config + 1U, 0), 960U);
        EXPECT_EQ(samples(config + 2U, 0), 1920U);
        EXPECT_EQ(samples(config + 3U, 0), 2880U);
    }
    EXPECT_EQ(samples(12, 0), 480U);
    EXPECT_EQ(samples(15, 0), 960U);
    EXPECT_EQ(samples(16, 0), 120U);
    EXPECT_EQ(samples(31, 0), 960U);
}

TEST(OpusTest, CountsTheFramesOfAPacket) {
    EXPECT_EQ(samples(31, 1), 1920U);
    EXPECT_EQ(samples(31, 2), 1920U);
    EXPECT_EQ(samples(31, 3, 6), 5760U);
    EXPECT_EQ(samples(31, 3, 0xC0 | 3), 2880U);
}

TEST(OpusTest, RefusesEmptyAndTooLongPackets) {
    EXPECT_FALSE(packet_samples({}));
    EXPECT_FALSE(packet_samples(Bytes{31 << 3 | 3}));
    EXPECT_FALSE(samples(31, 3, 0));
    EXPECT_FALSE(samples(31, 3, 7));
}

TEST(OpusTest, KnowsStereo) {
    EXPECT_TRUE(is_stereo(Bytes{0xFC}));
    EXPECT_FALSE(is_stereo(Bytes{0xF8}));
    EXPECT_FALSE(is_stereo({}));
}

TEST(OpusTest, BuildsTheHeadOfRfc7845) {
    const Bytes head = build_head(2);
    EXPECT_EQ(head, (Bytes{'O', 'p', 'u', 's', 'H', 'e', 'a', 'd', 1, 2, 0x38, 0x01, 0x80, 0xBB, 0,
                           0, 0, 0, 0}));
    EXPECT_EQ(head_channels(head), 2);
    for (size_t size = 0; size < head.size() - 1; size++) {
        EXPECT_FALSE(head_channels(ByteSpan(head).first(size))) << size;
    }
}

TEST(OpusTest, APacketHasUpTo120Milliseconds) {
    // Frames of 2.5, 5, 10, 20, 40 and 60 ms.
    for (const auto& [config, most] : {std::pair(16, 48), std::pair(17, 24), std::pair(0, 12),
                                       std::pair(1, 6), std::pair(2, 3), std::pair(3, 2)}) {
        EXPECT_EQ(samples(static_cast<uint8_t>(config), 3, static_cast<uint8_t>(most)),
                  kMaxPacketSamples)
            << config;
        EXPECT_FALSE(samples(static_cast<uint8_t>(config), 3, static_cast<uint8_t>(most + 1)))
            << config;
    }
}

TEST(OpusTest, RefusesHeadsOfLaterVersionsAndWithoutChannels) {
    const auto changed = [](size_t at, uint8_t value) {
        Bytes head = build_head(1);
        head[at] = value;
        return head_channels(head);
    };
    EXPECT_EQ(changed(8, 15), 1) << "RFC 7845 §5.1: versions 0 to 15 are compatible";
    EXPECT_FALSE(changed(8, 16));
    EXPECT_FALSE(changed(9, 0));
    EXPECT_EQ(changed(9, 8), 8);
    EXPECT_FALSE(changed(7, 'D')) << "the magic counts in full";
}

}  // namespace
}  // namespace weir::media::opus
