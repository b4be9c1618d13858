#include "media/hevc.h"

#include <vector>

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"

namespace weir::media::hevc {
namespace {

using test::from_hex;

TEST(HevcTest, ReadsAnSps) {
    auto sps = parse_sps(test::kHevcSps);
    ASSERT_TRUE(sps);
    EXPECT_EQ(sps->profile_idc(), 1);
    EXPECT_EQ(sps->level_idc(), 60);
    EXPECT_EQ(sps->width, test::kSampleWidth);
    EXPECT_EQ(sps->height, test::kSampleHeight);
    EXPECT_EQ(sps->chroma_format_idc, 1U);
    EXPECT_EQ(sps->bit_depth_luma, 8U);
    EXPECT_EQ(sps->temporal_layers, 1);
    EXPECT_TRUE(sps->temporal_id_nesting);
    EXPECT_EQ(sps->max_reorder_pictures, 2U);  // the encoder made a B pyramid
}

TEST(HevcTest, RefusesAnSpsThatIsCutBeforeWhatItNeeds) {
    bool accepted = false;
    for (size_t size = 0; size <= test::kHevcSps.size(); size++) {
        const bool now = parse_sps(ByteSpan(test::kHevcSps).first(size)).has_value();
        EXPECT_TRUE(now || !accepted) << size;
        accepted = now;
    }
    EXPECT_TRUE(accepted);
    EXPECT_FALSE(parse_sps(test::kHevcPps));
}

TEST(HevcTest, KnowsKeyPicturesAndThoseThatNothingRefersTo) {
    EXPECT_TRUE(is_irap(nal_type(0x28)));  // IDR_N_LP
    EXPECT_TRUE(is_irap(NalType::kCra));
    EXPECT_FALSE(is_irap(nal_type(0x02)));  // TRAIL_R
    EXPECT_TRUE(is_referenced(nal_type(0x02)));
    EXPECT_FALSE(is_referenced(nal_type(0x00)));  // TRAIL_N
    EXPECT_TRUE(is_referenced(NalType::kIdrNLp));
    EXPECT_EQ(temporal_id(0x01), 0);
    EXPECT_EQ(temporal_id(0x03), 2);
    EXPECT_EQ(temporal_id(0x00), 0);
}

Bytes frame_of(const std::vector<Bytes>& nals) {
    Bytes frame;
    for (const Bytes& nal : nals) {
        ByteWriter(frame).u32(static_cast<uint32_t>(nal.size())).bytes(nal);
    }
    return frame;
}

TEST(HevcTest, SaysWhatAFrameIs) {
    // Slices of x265: IDR, TRAIL_R, TRAIL_N; the last one in temporal layer 1.
    const FrameInfo key = inspect_frame(
        frame_of({test::kHevcVps, test::kHevcSps, test::kHevcPps, from_hex("2801af563277")}), 4);
    EXPECT_TRUE(key.key && key.referenced && key.parameter_sets && key.whole);
    const FrameInfo inter = inspect_frame(frame_of({from_hex("0201d0115784")}), 4);
    EXPECT_TRUE(!inter.key && inter.referenced && !inter.parameter_sets);
    const FrameInfo leaf = inspect_frame(frame_of({from_hex("0002e024bf86")}), 4);
    EXPECT_TRUE(!leaf.key && !leaf.referenced);
    EXPECT_EQ(leaf.temporal_id, 1);
    EXPECT_FALSE(inspect_frame(from_hex("00000009 2801"), 4).whole);
    EXPECT_TRUE(is_first_slice(from_hex("2801af")));
    EXPECT_FALSE(is_first_slice(from_hex("28012f")));
    EXPECT_FALSE(is_first_slice(from_hex("2801")));
}

TEST(HevcConfigTest, BuildsWhatAnotherMuxerBuilt) {
    const std::vector<ByteSpan> vps = {test::kHevcVps};
    const std::vector<ByteSpan> sps = {test::kHevcSps};
    const std::vector<ByteSpan> pps = {test::kHevcPps};
    const Bytes record = build_config(vps, sps, pps);
    ASSERT_GT(record.size(), test::kHevcConfigHead.size());
    EXPECT_EQ(Bytes(record.begin(), record.begin() + 22), test::kHevcConfigHead);
    auto config = ConfigView::parse(record);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->length_size(), 4U);
    std::vector<Bytes> sets;
    config->for_each_parameter_set([&](ByteSpan n) { sets.emplace_back(n.begin(), n.end()); });
    EXPECT_EQ(sets, (std::vector<Bytes>{test::kHevcVps, test::kHevcSps, test::kHevcPps}));
    EXPECT_TRUE(parse_sps(config->sps()));
    for (size_t size = 0; size < record.size(); size++) {
        EXPECT_FALSE(ConfigView::parse(ByteSpan(record).first(size))) << size;
    }
}

TEST(HevcConfigTest, BuildsNothingWithoutAllKindsOfSets) {
    const std::vector<ByteSpan> vps = {test::kHevcVps};
    const std::vector<ByteSpan> sps = {test::kHevcSps};
    EXPECT_TRUE(build_config(vps, sps, {}).empty());
    EXPECT_TRUE(build_config({}, sps, vps).empty());
    EXPECT_TRUE(build_config(vps, vps, vps).empty());
}

}  // namespace
}  // namespace weir::media::hevc
