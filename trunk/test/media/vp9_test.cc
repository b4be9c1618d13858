#include "media/vp9.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "test/support/bit_writer.h"
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

// Marker and profile, up to the frame type (§6.2).
test::BitWriter head(unsigned profile) {
    test::BitWriter w;
    w.bits(2, 2).bits(1, profile & 1U).bits(1, profile >> 1U);
    return profile == 3 ? w.bits(2, 0) : w.bits(1, 0);
}

TEST(Vp9Test, AHiddenFrameMayBeOfItsOwn) {
    for (const bool resilient : {false, true}) {
        const auto frame = [resilient](unsigned profile, bool intra, unsigned color_bits) {
            test::BitWriter w = head(profile);
            w.flag(true).flag(false).flag(resilient).flag(intra).bits(resilient ? 0 : 2, 3);
            w.bits(24, 0x498342);
            // Depth of the higher profiles, colour space 1, range.
            w.bits(color_bits, color_bits == 5 ? 0b10010 : 0b0010);
            return parse_frame(w.bits(8, 0xFF).bits(16, 639).bits(16, 359).bits(8, 0).bytes());
        };
        const auto plain = frame(0, true, 0);
        ASSERT_TRUE(plain);
        EXPECT_TRUE(plain->intra_only && !plain->shown && !plain->key);
        EXPECT_EQ(plain->width, 640U);
        EXPECT_EQ(plain->height, 360U);
        EXPECT_EQ(plain->bit_depth, 8) << "profile 0 does not say it again";
        const auto deep = frame(2, true, 5);
        ASSERT_TRUE(deep);
        EXPECT_EQ(deep->bit_depth, 12);
        EXPECT_EQ(deep->color_space, 1);
        EXPECT_EQ(deep->width, 640U);
        const auto inter = frame(0, false, 0);
        ASSERT_TRUE(inter);
        EXPECT_FALSE(inter->intra_only);
        EXPECT_EQ(inter->width, 0U);
    }
}

TEST(Vp9Test, OnlyOddProfilesHaveRgb) {
    const auto key = [](unsigned profile) {
        test::BitWriter w = head(profile);
        w.flag(false).flag(true).flag(false).bits(24, 0x498342);
        w.bits(profile >= 2 ? 1 : 0, 0).bits(3, 7).bits(profile % 2, 0);
        return parse_frame(w.bits(16, 15).bits(16, 15).bits(8, 0).bytes());
    };
    EXPECT_FALSE(key(0));
    EXPECT_FALSE(key(2));
    for (unsigned profile : {1U, 3U}) {
        const auto info = key(profile);
        ASSERT_TRUE(info) << profile;
        EXPECT_TRUE(info->full_range);
        EXPECT_FALSE(info->subsampling_x || info->subsampling_y);
        EXPECT_EQ(info->bit_depth, profile == 3 ? 10 : 8);
        EXPECT_EQ(info->width, 16U);
    }
}

TEST(Vp9Test, ASuperframeHasUpTo8FramesInTheirOrder) {
    Bytes data;
    std::vector<size_t> sizes;
    for (size_t i = 0; i < kMaxFramesInSuperframe; i++) {
        sizes.push_back(i == 6 ? 300 : i + 1);
        data.insert(data.end(), sizes.back(), static_cast<uint8_t>(i));
    }
    append_superframe_index(sizes, data);
    const SuperframeView view{ByteSpan(data)};
    ASSERT_EQ(view.frames().size(), kMaxFramesInSuperframe);
    for (size_t i = 0; i < sizes.size(); i++) {
        EXPECT_EQ(view.frames()[i].size(), sizes[i]);
        EXPECT_EQ(view.frames()[i].back(), i);
    }
    // The byte that ends the index begins it, too; without that it is the end of a frame.
    data[data.size() - 2 - 2 * 8] ^= 1;
    EXPECT_EQ(SuperframeView(data).frames().size(), 1U);
}

TEST(Vp9Test, LeavesEmptyFramesOfASuperframeOut) {
    const Bytes data = from_hex("86 87 c2 01 00 01 c2");
    const SuperframeView view{ByteSpan(data)};
    ASSERT_EQ(view.frames().size(), 2U);
    EXPECT_EQ(view.frames()[1].size(), 1U);
    const Bytes none = from_hex("86 c1 00 00 c1");
    EXPECT_EQ(SuperframeView(none).frames().size(), 1U) << "no frame at all: not an index";
}

}  // namespace
}  // namespace weir::media::vp9
