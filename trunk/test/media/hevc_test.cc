#include "media/hevc.h"

#include <cstdint>
#include <tuple>
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

TEST(HevcTest, KnowsEachTypeOfNalUnit) {
    for (unsigned value = 0; value < 64; value++) {
        const auto type = static_cast<NalType>(value);
        EXPECT_EQ(nal_type(static_cast<uint8_t>(value << 1 | 0x81)), type) << value;
        EXPECT_EQ(is_slice(type), value < 32) << value;
        EXPECT_EQ(is_irap(type), value >= 16 && value <= 23) << value;
        EXPECT_EQ(is_parameter_set(type), value >= 32 && value <= 34) << value;
    }
    // H.265 §7.4.2.4.4.
    for (uint8_t type : Bytes{32, 33, 34, 35, 39, 41, 44, 48, 55}) {
        EXPECT_TRUE(begins_access_unit(static_cast<NalType>(type))) << int{type};
    }
    for (uint8_t type : Bytes{1, 31, 36, 37, 38, 40, 45, 47, 56}) {
        EXPECT_FALSE(begins_access_unit(static_cast<NalType>(type))) << int{type};
    }
    // RASL_N and RADL_N; RASL_R and RADL_R.
    EXPECT_FALSE(is_referenced(static_cast<NalType>(8)) || is_referenced(static_cast<NalType>(6)));
    EXPECT_TRUE(is_referenced(static_cast<NalType>(9)) && is_referenced(static_cast<NalType>(7)));
}

TEST(HevcTest, ParameterSetsAreAllThree) {
    const Bytes slice = from_hex("2801af");
    const std::vector<Bytes> all = {test::kHevcVps, test::kHevcSps, test::kHevcPps};
    EXPECT_TRUE(inspect_frame(frame_of({slice, all[2], all[0], all[1]}), 4).parameter_sets);
    for (size_t missing = 0; missing < all.size(); missing++) {
        std::vector<Bytes> nals = all;
        nals[missing] = slice;
        EXPECT_FALSE(inspect_frame(frame_of(nals), 4).parameter_sets) << missing;
    }
}

TEST(HevcTest, TheLayerOfAFrameIsThatOfItsFirstSlice) {
    const Bytes sei = from_hex("4e07 01");
    const FrameInfo info = inspect_frame(frame_of({sei, from_hex("0203 d0"), from_hex("0201")}), 4);
    EXPECT_EQ(info.temporal_id, 2);
    // A slice without the second byte of its header is none.
    const FrameInfo cut = inspect_frame(frame_of({from_hex("28"), from_hex("0002 e0")}), 4);
    EXPECT_FALSE(cut.key || cut.referenced);
    EXPECT_EQ(cut.temporal_id, 1);
}

TEST(HevcConfigTest, TakesTheVersionsAndLengthsThatExist) {
    Bytes record = test::kHevcConfigHead;
    record.push_back(0);  // no arrays: the sets are in the frames (hev1)
    for (const auto& [version, lengths, size] :
         {std::tuple(0, 0xFC, 1U), std::tuple(1, 0xFD, 2U), std::tuple(1, 0xFF, 4U)}) {
        record[0] = static_cast<uint8_t>(version);
        record[21] = static_cast<uint8_t>(lengths);
        auto config = ConfigView::parse(record);
        ASSERT_TRUE(config) << version;
        EXPECT_EQ(config->length_size(), size);
        EXPECT_TRUE(config->sps().empty());
    }
    record[0] = 2;
    EXPECT_FALSE(ConfigView::parse(record));
    record[0] = 1;
    record[21] = 0xFE;
    EXPECT_FALSE(ConfigView::parse(record));
}

TEST(HevcConfigTest, FindsTheSpsInAnyOrderOfTheArrays) {
    Bytes record = test::kHevcConfigHead;
    const Bytes arrays =
        from_hex("03 a2 0001 0002 4401  a1 0002 0000 0003 420155  a7 0001 0001 4e");
    record.insert(record.end(), arrays.begin(), arrays.end());
    auto config = ConfigView::parse(record);
    ASSERT_TRUE(config);
    EXPECT_EQ(Bytes(config->sps().begin(), config->sps().end()), from_hex("420155"));
    int sets = 0;
    config->for_each_parameter_set([&](ByteSpan) { sets++; });
    EXPECT_EQ(sets, 3) << "the empty one is left out";
}

TEST(HevcConfigTest, SetsHaveUpTo65535Bytes) {
    Bytes large = test::kHevcVps;
    large.resize(UINT16_MAX, 0x55);
    const std::vector<ByteSpan> sps = {test::kHevcSps};
    const std::vector<ByteSpan> pps = {test::kHevcPps};
    EXPECT_TRUE(ConfigView::parse(build_config(std::vector<ByteSpan>{large}, sps, pps)));
    large.push_back(0x55);
    EXPECT_TRUE(build_config(std::vector<ByteSpan>{large}, sps, pps).empty());
}

}  // namespace
}  // namespace weir::media::hevc
