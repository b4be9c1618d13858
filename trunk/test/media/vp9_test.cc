#include "media/vp9.h"

#include <vector>

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"

namespace weir::media::vp9 {
namespace {

using test::from_hex;

TEST(Vp9Test, ReadsAKeyFrame) {
    auto info = parse_frame(test::kVp9Key);
    ASSERT_TRUE(info);
    EXPECT_TRUE(info->key && info->shown);
    EXPECT_EQ(info->profile, 0);
    EXPECT_EQ(info->bit_depth, 8);
    EXPECT_EQ(info->width, test::kSampleWidth);
    EXPECT_EQ(info->height, test::kSampleHeight);
    EXPECT_TRUE(info->subsampling_x && info->subsampling_y);
}

TEST(Vp9Test, ReadsAnInterFrame) {
    auto info = parse_frame(test::kVp9Inter);
    ASSERT_TRUE(info);
    EXPECT_FALSE(info->key);
    EXPECT_FALSE(info->intra_only);
    EXPECT_TRUE(info->shown);
    EXPECT_EQ(info->width, 0U);
}

TEST(Vp9Test, ReadsAFrameThatShowsAnotherOne) {
    auto info = parse_frame(from_hex("88"));
    ASSERT_TRUE(info);
    EXPECT_TRUE(info->show_existing && info->shown);
    EXPECT_FALSE(info->key);
}

TEST(Vp9Test, RefusesWhatIsCutOrBreaksTheRules) {
    for (size_t size = 0; size < 9; size++) {
        EXPECT_FALSE(parse_frame(ByteSpan(test::kVp9Key).first(size))) << size;
    }
    EXPECT_FALSE(parse_frame(from_hex("4249834200")));           // frame marker
    EXPECT_FALSE(parse_frame(from_hex("82498343001410 0b16")));  // sync code
    EXPECT_FALSE(parse_frame(from_hex("b8")));                   // reserved bit of profile 3
}

TEST(Vp9Test, ReadsOtherProfiles) {
    // Profile 1 (4:4:4), key: marker 10, profile bits 1 0, not existing, key, shown, not resilient.
    const Bytes profile1 = from_hex("a2 498342 40 0140 0b00 00");
    auto info = parse_frame(profile1);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->profile, 1);
    EXPECT_EQ(info->color_space, 2);
    EXPECT_FALSE(info->subsampling_x);
}

TEST(Vp9Test, TakesASuperframeApartAndMakesOne) {
    Bytes data = test::kVp9Key;
    data.insert(data.end(), test::kVp9Inter.begin(), test::kVp9Inter.end());
    const std::vector<size_t> sizes = {test::kVp9Key.size(), test::kVp9Inter.size()};
    append_superframe_index(sizes, data);
    const SuperframeView view{ByteSpan(data)};
    ASSERT_EQ(view.frames().size(), 2U);
    EXPECT_EQ(view.frames()[0].size(), sizes[0]);
    EXPECT_EQ(view.frames()[1].size(), sizes[1]);
    EXPECT_EQ(data.back(), 0xC1);
}

TEST(Vp9Test, UsesAsManyBytesAsTheLargestFrameNeeds) {
    for (size_t size : {size_t{255}, size_t{256}, size_t{65536}}) {
        Bytes data(size + 1, 0x11);
        const std::vector<size_t> sizes = {size, 1};
        append_superframe_index(sizes, data);
        const SuperframeView view{ByteSpan(data)};
        ASSERT_EQ(view.frames().size(), 2U) << size;
        EXPECT_EQ(view.frames()[0].size(), size);
    }
}

TEST(Vp9Test, TakesAFrameWithoutIndexAsOne) {
    EXPECT_EQ(SuperframeView(test::kVp9Key).frames().size(), 1U);
    EXPECT_TRUE(SuperframeView({}).frames().empty());
    // Looks like an index, but its sizes are more than there is.
    EXPECT_EQ(SuperframeView(from_hex("82 c0 ff c0")).frames().size(), 1U);
    EXPECT_EQ(SuperframeView(from_hex("c7")).frames().size(), 1U);
}

}  // namespace
}  // namespace weir::media::vp9
