#include "media/vpx_config.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"

namespace weir::media {
namespace {

TEST(VpxConfigTest, DescribesAKeyFrame) {
    const VpxConfig config = vpx_config_of(*vp9::parse_frame(test::kVp9Key));
    EXPECT_EQ(config.level, 11);
    EXPECT_EQ(build_vpx_config(config), test::from_hex("00 0b 82 02 02 02 0000"));
}

TEST(VpxConfigTest, ReadsTheRecordWithAndWithoutTheHeadOfItsBox) {
    const Bytes box = test::from_hex("01000000 00 0b 80 02 02 02 0000");  // of ffmpeg 9.0
    auto with_head = parse_vpx_config(box);
    auto without = parse_vpx_config(ByteSpan(box).subspan(4));
    ASSERT_TRUE(with_head && without);
    EXPECT_EQ(*with_head, *without);
    EXPECT_EQ(with_head->level, 11);
    EXPECT_EQ(with_head->bit_depth, 8);
    EXPECT_EQ(with_head->chroma_subsampling, 0);
    for (size_t size = 0; size < 8; size++) {
        EXPECT_FALSE(parse_vpx_config(ByteSpan(box).subspan(4, size))) << size;
    }
}

TEST(VpxConfigTest, ReadsBackWhatItBuilds) {
    VpxConfig config;
    config.profile = 3;
    config.level = 51;
    config.bit_depth = 12;
    config.chroma_subsampling = 3;
    config.full_range = true;
    config.matrix = 9;
    EXPECT_EQ(parse_vpx_config(build_vpx_config(config)), config);
}

TEST(VpxConfigTest, SaysNoLevelForPicturesBeyondAll) {
    vp9::FrameInfo info;
    info.width = 65535;
    info.height = 65535;
    EXPECT_EQ(vpx_config_of(info).level, 0);
}

TEST(VpxConfigTest, TheLevelIsTheLowestThatAllowsThePicture) {
    const auto level = [](uint32_t width, uint32_t height) {
        vp9::FrameInfo info;
        info.width = width;
        info.height = height;
        return vpx_config_of(info).level;
    };
    EXPECT_EQ(level(256, 144), 10);
    EXPECT_EQ(level(257, 144), 11);
    EXPECT_EQ(level(1280, 720), 31);
    EXPECT_EQ(level(1920, 1088), 40);
    EXPECT_EQ(level(2048, 1088), 40);
    EXPECT_EQ(level(2049, 1088), 50);
    EXPECT_EQ(level(3840, 2160), 50);
    EXPECT_EQ(level(8192, 4352), 60);
    EXPECT_EQ(level(8193, 4352), 0);
    EXPECT_EQ(level(65'536, 65'536), 0) << "2^32 pixels are not none";
}

TEST(VpxConfigTest, NamesTheSubsampling) {
    vp9::FrameInfo info;
    EXPECT_EQ(vpx_config_of(info).chroma_subsampling, 1);
    info.subsampling_y = false;
    EXPECT_EQ(vpx_config_of(info).chroma_subsampling, 2);
    info.subsampling_x = false;
    EXPECT_EQ(vpx_config_of(info).chroma_subsampling, 3);
}

TEST(VpxConfigTest, RefusesARecordThatEndsBeforeItsData) {
    EXPECT_TRUE(parse_vpx_config(test::from_hex("00 0b 80 02 02 02 0002 aabb")));
    EXPECT_FALSE(parse_vpx_config(test::from_hex("00 0b 80 02 02 02 0003 aabb")));
    // Profile 1, level 0: the head of a box needs a record behind it.
    const auto bare = parse_vpx_config(test::from_hex("01 00 00 00 02 02 0000"));
    ASSERT_TRUE(bare);
    EXPECT_EQ(bare->profile, 1);
}

}  // namespace
}  // namespace weir::media
