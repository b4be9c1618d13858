#include "media/vp8.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"

namespace weir::media::vp8 {
namespace {

TEST(Vp8Test, ReadsAKeyFrame) {
    auto info = parse_frame(test::kVp8Key);
    ASSERT_TRUE(info);
    EXPECT_TRUE(info->key);
    EXPECT_TRUE(info->shown);
    EXPECT_EQ(info->version, 0);
    EXPECT_EQ(info->width, test::kSampleWidth);
    EXPECT_EQ(info->height, test::kSampleHeight);
}

TEST(Vp8Test, ReadsAnInterFrame) {
    auto info = parse_frame(test::kVp8Inter);
    ASSERT_TRUE(info);
    EXPECT_FALSE(info->key);
    EXPECT_TRUE(info->shown);
    EXPECT_EQ(info->width, 0U);
}

TEST(Vp8Test, RefusesWhatIsCutOrHasNoStartCode) {
    for (size_t size = 0; size < 10; size++) {
        EXPECT_FALSE(parse_frame(ByteSpan(test::kVp8Key).first(size))) << size;
    }
    for (size_t size = 0; size < 3; size++) {
        EXPECT_FALSE(parse_frame(ByteSpan(test::kVp8Inter).first(size))) << size;
    }
    Bytes wrong = test::kVp8Key;
    wrong[4] = 0;
    EXPECT_FALSE(parse_frame(wrong));
}

TEST(Vp8Test, ScalingIsNotPartOfTheSize) {
    Bytes scaled = test::kVp8Key;
    scaled[7] |= 0xC0;
    scaled[9] |= 0x40;
    auto info = parse_frame(scaled);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->width, test::kSampleWidth);
    EXPECT_EQ(info->height, test::kSampleHeight);
}

TEST(Vp8Test, KnowsHiddenFramesAndVersions) {
    Bytes hidden = test::kVp8Inter;
    hidden[0] = static_cast<uint8_t>((hidden[0] & ~0x1E) | 3 << 1);
    auto info = parse_frame(hidden);
    ASSERT_TRUE(info);
    EXPECT_FALSE(info->shown || info->key);
    EXPECT_EQ(info->version, 3);
}

}  // namespace
}  // namespace weir::media::vp8
