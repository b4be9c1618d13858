#include "media/avc.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "test/support/bit_writer.h"
#include "test/support/codec_samples.h"

namespace weir::media::avc {
namespace {

using test::from_hex;

TEST(AvcTest, ReadsAnSpsOfTheHighProfile) {
    auto sps = parse_sps(test::kAvcHighSps);
    ASSERT_TRUE(sps);
    EXPECT_EQ(sps->profile_idc, 100);
    EXPECT_EQ(sps->level_idc, 20);
    EXPECT_EQ(sps->chroma_format_idc, 1U);
    EXPECT_EQ(sps->bit_depth_luma, 8U);
    EXPECT_EQ(sps->width, test::kSampleWidth);
    EXPECT_EQ(sps->height, test::kSampleHeight);
    EXPECT_FALSE(sps->interlaced);
    EXPECT_EQ(sps->max_reorder_frames, 2U);
}

TEST(AvcTest, ReadsAnSpsOfTheBaselineProfile) {
    auto sps = parse_sps(test::kAvcBaselineSps);
    ASSERT_TRUE(sps);
    EXPECT_EQ(sps->profile_idc, 66);
    EXPECT_EQ(sps->constraint_flags, 0xC0);
    EXPECT_EQ(sps->level_idc, 30);
    EXPECT_EQ(sps->width, test::kSampleWidth);
    EXPECT_EQ(sps->height, test::kSampleHeight);
    EXPECT_EQ(sps->poc_type, 2U);
    EXPECT_EQ(sps->max_reorder_frames, 0U);
}

TEST(AvcTest, ReadsAnInterlacedSpsWithScalingListsAndHrd) {
    // x264 with cqm=jvt, nal-hrd=cbr, interlaced=1, 4:2:2, 720x564.
    auto sps = parse_sps(
        from_hex("677a001ebcd940b424fcfff805e0043d2808101200000300020000030064c04003d08000f42726180"
                 "7c50a6580"));
    ASSERT_TRUE(sps);
    EXPECT_EQ(sps->profile_idc, 122);
    EXPECT_EQ(sps->chroma_format_idc, 2U);
    EXPECT_TRUE(sps->interlaced);
    EXPECT_EQ(sps->width, 720U);
    EXPECT_EQ(sps->height, 564U);
    EXPECT_EQ(sps->max_reorder_frames, 2U);
}

TEST(AvcTest, RefusesAnSpsThatIsCutBeforeItsVui) {
    const Bytes& whole = test::kAvcHighSps;
    size_t accepted = whole.size();
    for (size_t size = 0; size < whole.size(); size++) {
        auto sps = parse_sps(ByteSpan(whole).first(size));
        if (sps) {
            accepted = std::min(accepted, size);
            EXPECT_EQ(sps->width, test::kSampleWidth);
        } else {
            EXPECT_LT(size, accepted);
        }
    }
    EXPECT_GT(accepted, 10U);
}

TEST(AvcTest, RefusesSizesThatCannotBe) {
    // Baseline, level 3, id 0, frame num, POC type 2, 1 reference, no gaps, then a width of 2^17
    // macroblocks.
    EXPECT_FALSE(parse_sps(from_hex("6742001e f9 0000 0200 0200 0000")));
    EXPECT_FALSE(parse_sps(from_hex("68cb8cb2")));
    EXPECT_FALSE(parse_sps({}));
}

TEST(AvcTest, ReadsTheIdsOfAPps) {
    auto ids = parse_pps_ids(test::kAvcHighPps);
    ASSERT_TRUE(ids);
    EXPECT_EQ(ids->id, 0U);
    EXPECT_EQ(ids->sps_id, 0U);
    EXPECT_FALSE(parse_pps_ids(from_hex("68")));
    EXPECT_FALSE(parse_pps_ids(test::kAvcHighSps));
}

// The first slices of x264 with a B pyramid, in the order of decoding: I, P, B that is referred to,
// two B that are not.
struct SliceCase {
    const char* hex;
    SliceType type;
    bool referenced;
    bool is_key;
};

const std::vector<SliceCase> kSlices = {
    {"658884004f5de7960eaa", SliceType::kI, true, true},
    {"419a246c4fffd7bd5247", SliceType::kP, true, false},
    {"419e42788afffd54ce28", SliceType::kB, true, false},
    {"019e6174467fee6162fd", SliceType::kB, false, false},
    {"019e636a467feefc2b68", SliceType::kB, false, false},
};

Bytes frame_of(const std::vector<Bytes>& nals) {
    Bytes frame;
    for (const Bytes& nal : nals) {
        ByteWriter(frame).u32(static_cast<uint32_t>(nal.size())).bytes(nal);
    }
    return frame;
}

TEST(AvcTest, ReadsTheFirstFieldsOfSlices) {
    for (const SliceCase& c : kSlices) {
        auto slice = parse_slice(from_hex(c.hex));
        ASSERT_TRUE(slice) << c.hex;
        EXPECT_EQ(slice->first_macroblock, 0U);
        EXPECT_EQ(slice->type, c.type) << c.hex;
        EXPECT_EQ(slice->pps_id, 0U);
    }
    EXPECT_FALSE(parse_slice(from_hex("0605ffff")));
    EXPECT_FALSE(parse_slice(from_hex("65")));
    EXPECT_FALSE(parse_slice({}));
}

TEST(AvcTest, TellsReferenceBFramesFromThoseThatNothingRefersTo) {
    for (const SliceCase& c : kSlices) {
        const FrameInfo info = inspect_frame(frame_of({from_hex("0605ffff"), from_hex(c.hex)}), 4);
        EXPECT_TRUE(info.whole);
        EXPECT_EQ(info.key, c.is_key) << c.hex;
        EXPECT_EQ(info.referenced, c.referenced) << c.hex;
        EXPECT_EQ(info.bidirectional, c.type == SliceType::kB) << c.hex;
        EXPECT_EQ(info.is_reference_b(), c.type == SliceType::kB && c.referenced) << c.hex;
        EXPECT_FALSE(info.parameter_sets);
    }
    EXPECT_TRUE(inspect_frame(frame_of({test::kAvcHighSps, test::kAvcHighPps}), 4).parameter_sets);
    EXPECT_FALSE(inspect_frame(from_hex("00000009 65"), 4).whole);
}

TEST(AvcTest, KnowsWhatBeginsAnAccessUnit) {
    for (uint8_t type : Bytes{6, 7, 8, 9, 14, 18}) {
        EXPECT_TRUE(begins_access_unit(nal_type(type))) << int{type};
    }
    for (uint8_t type : Bytes{1, 5, 10, 12, 13, 19}) {
        EXPECT_FALSE(begins_access_unit(nal_type(type))) << int{type};
    }
}

std::vector<Bytes> sets_of(const ConfigView& config) {
    std::vector<Bytes> sets;
    config.for_each_parameter_set([&](ByteSpan nal) { sets.emplace_back(nal.begin(), nal.end()); });
    return sets;
}

TEST(AvcConfigTest, ReadsTheRecordsOfAnEncoder) {
    auto high = ConfigView::parse(test::kAvcHighConfig);
    ASSERT_TRUE(high);
    EXPECT_EQ(high->profile(), 100);
    EXPECT_EQ(high->level(), 20);
    EXPECT_EQ(high->length_size(), 4U);
    EXPECT_EQ(sets_of(*high), (std::vector<Bytes>{test::kAvcHighSps, test::kAvcHighPps}));
    EXPECT_TRUE(parse_sps(high->sps()));
    auto baseline = ConfigView::parse(test::kAvcBaselineConfig);
    ASSERT_TRUE(baseline);
    EXPECT_EQ(baseline->compatibility(), 0xC0);
    EXPECT_EQ(sets_of(*baseline),
              (std::vector<Bytes>{test::kAvcBaselineSps, test::kAvcBaselinePps}));
}

TEST(AvcConfigTest, BuildsTheRecordsOfThatEncoderByteForByte) {
    const std::vector<ByteSpan> high_sps = {test::kAvcHighSps};
    const std::vector<ByteSpan> high_pps = {test::kAvcHighPps};
    EXPECT_EQ(build_config(high_sps, high_pps), test::kAvcHighConfig);
    const std::vector<ByteSpan> sps = {test::kAvcBaselineSps};
    const std::vector<ByteSpan> pps = {test::kAvcBaselinePps};
    EXPECT_EQ(build_config(sps, pps), test::kAvcBaselineConfig);
}

TEST(AvcConfigTest, BuildsNothingWithoutBothKindsOfSets) {
    const std::vector<ByteSpan> sps = {test::kAvcHighSps};
    EXPECT_TRUE(build_config(sps, {}).empty());
    EXPECT_TRUE(build_config({}, sps).empty());
    const Bytes short_sps = {0x67, 1, 2};
    const std::vector<ByteSpan> too_short = {short_sps};
    EXPECT_TRUE(build_config(too_short, sps).empty());
}

TEST(AvcConfigTest, RefusesARecordThatIsCut) {
    const Bytes& record = test::kAvcBaselineConfig;
    for (size_t size = 0; size < record.size(); size++) {
        EXPECT_FALSE(ConfigView::parse(ByteSpan(record).first(size))) << size;
    }
    Bytes version = record;
    version[0] = 2;
    EXPECT_FALSE(ConfigView::parse(version));
    Bytes lengths = record;
    lengths[4] = 0xFE;  // lengths of three bytes do not exist
    EXPECT_FALSE(ConfigView::parse(lengths));
}

TEST(AvcTest, IdsOfAPpsGoUpTo255And31) {
    const auto pps = [](uint32_t id, uint32_t sps_id) {
        return parse_pps_ids(test::BitWriter().ue(id).ue(sps_id).nal({0x68}));
    };
    ASSERT_TRUE(pps(255, 31));
    EXPECT_EQ(pps(255, 31)->id, 255U);
    EXPECT_EQ(pps(255, 31)->sps_id, 31U);
    EXPECT_FALSE(pps(256, 0));
    EXPECT_FALSE(pps(0, 32));
}

TEST(AvcTest, SlicesSayTheirTypeWithAndWithoutThatOfThePicture) {
    const auto slice = [](uint8_t nal_header, uint32_t type, uint32_t pps_id) {
        return parse_slice(test::BitWriter().ue(1200).ue(type).ue(pps_id).nal({nal_header}));
    };
    for (uint32_t type = 0; type < 10; type++) {
        ASSERT_TRUE(slice(0x41, type, 0)) << type;
        EXPECT_EQ(slice(0x41, type, 0)->type, static_cast<SliceType>(type % 5)) << type;
    }
    EXPECT_EQ(slice(0x42, 6, 0)->first_macroblock, 1200U) << "partition A has a header";
    EXPECT_FALSE(slice(0x43, 6, 0)) << "partition B has none";
    EXPECT_FALSE(slice(0x41, 10, 0));
    EXPECT_EQ(slice(0x41, 0, 255)->pps_id, 255U);
    EXPECT_FALSE(slice(0x41, 0, 256));
}

TEST(AvcTest, OneBSliceOrReferredSliceMakesTheFrameOne) {
    const Bytes p = from_hex("019a246c4f");  // nothing refers to it
    const Bytes referred_p = from_hex(kSlices[1].hex);
    const Bytes b = from_hex(kSlices[3].hex);
    const FrameInfo both = inspect_frame(frame_of({p, b, referred_p}), 4);
    EXPECT_TRUE(both.bidirectional && both.referenced && both.is_reference_b());
    const FrameInfo cut = inspect_frame(frame_of({p, b, Bytes{0x01}}), 4);
    EXPECT_TRUE(cut.bidirectional) << "a slice that says nothing takes nothing back";
    EXPECT_FALSE(cut.referenced);
    // Only pictures count: parameter sets and SEI have a nal_ref_idc, too.
    EXPECT_FALSE(inspect_frame(frame_of({test::kAvcHighSps, p}), 4).referenced);
    EXPECT_FALSE(inspect_frame(frame_of({test::kAvcHighSps, p}), 4).parameter_sets);
}

TEST(AvcTest, FramesHaveLengthsOfTheSizeOfTheirStream) {
    const Bytes one = from_hex("02 6588 03 019e61");
    EXPECT_TRUE(inspect_frame(one, 1).whole && inspect_frame(one, 1).key);
    EXPECT_TRUE(inspect_frame(one, 1).bidirectional);
    const Bytes two = from_hex("0002 6588");
    EXPECT_TRUE(inspect_frame(two, 2).whole && inspect_frame(two, 2).key);
    EXPECT_FALSE(inspect_frame(two, 4).whole);
    EXPECT_FALSE(inspect_frame(two, 4).key);
}

TEST(AvcConfigTest, CountsAsManySetsAsFit) {
    const std::vector<ByteSpan> most_sps(kMaxSps, test::kAvcBaselineSps);
    const std::vector<ByteSpan> most_pps(kMaxPps, test::kAvcBaselinePps);
    const Bytes record = build_config(most_sps, most_pps);
    auto config = ConfigView::parse(record);
    ASSERT_TRUE(config);
    EXPECT_EQ(sets_of(*config).size(), kMaxSps + kMaxPps);
    EXPECT_EQ(sets_of(*config).back(), test::kAvcBaselinePps);

    const std::vector<ByteSpan> many_sps(kMaxSps + 1, test::kAvcBaselineSps);
    const std::vector<ByteSpan> many_pps(kMaxPps + 1, test::kAvcBaselinePps);
    EXPECT_TRUE(build_config(many_sps, most_pps).empty());
    EXPECT_TRUE(build_config(most_sps, many_pps).empty());
}

TEST(AvcConfigTest, SetsHaveUpTo65535Bytes) {
    Bytes large = test::kAvcBaselineSps;
    large.resize(UINT16_MAX, 0x55);
    const std::vector<ByteSpan> pps = {test::kAvcBaselinePps};
    const Bytes record = build_config(std::vector<ByteSpan>{large}, pps);
    auto config = ConfigView::parse(record);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->sps().size(), UINT16_MAX);
    large.push_back(0x55);
    EXPECT_TRUE(build_config(std::vector<ByteSpan>{large}, pps).empty());
    const std::vector<ByteSpan> sps = {test::kAvcBaselineSps};
    EXPECT_TRUE(build_config(sps, std::vector<ByteSpan>{large}).empty());
}

TEST(AvcConfigTest, HighProfilesSayChromaAndDepths) {
    // Profile 122, 4:2:2, luma of 10 bits and chroma of 9, 16x16.
    test::BitWriter set;
    set.bits(24, 0x7A001E).ue(0).ue(2).ue(2).ue(1).bits(2, 0).ue(0).ue(2).ue(1).flag(false);
    const Bytes nal = set.ue(0).ue(0).bits(4, 0b1100).nal({0x67});
    const std::vector<ByteSpan> pps = {test::kAvcHighPps};
    const Bytes record = build_config(std::vector<ByteSpan>{nal}, pps);
    ASSERT_GT(record.size(), 4U);
    EXPECT_EQ(Bytes(record.end() - 4, record.end()), from_hex("fe fa f9 00"));
}

TEST(AvcConfigTest, TakesRecordsWithoutSetsAndOtherLengths) {
    // Streams that have their sets in the frames (avc3); the reserved bits are not looked at.
    for (const auto& [hex, length_size] :
         {std::pair("0164001f fc 00 00", 1U), std::pair("0164001f 01 e0 00", 2U)}) {
        const Bytes record = from_hex(hex);
        auto config = ConfigView::parse(record);
        ASSERT_TRUE(config) << hex;
        EXPECT_EQ(config->length_size(), length_size);
        EXPECT_TRUE(config->sps().empty());
        EXPECT_TRUE(sets_of(*config).empty());
    }
    const Bytes empty_first = from_hex("0164001f ff e2 0000 0002 6701 01 0001 68");
    auto config = ConfigView::parse(empty_first);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->sps().size(), 2U) << "empty ones are left out";
    EXPECT_EQ(sets_of(*config).size(), 2U);
}

TEST(AvcTest, ARecoveryPointWithoutFramesToWaitForIsOne) {
    // sei_message(): type, size; recovery_frame_cnt ue(v) 0 is the bit 1, 1 is 010.
    EXPECT_TRUE(is_recovery_point(test::from_hex("06 06 01 84 80")));
    EXPECT_FALSE(is_recovery_point(test::from_hex("06 06 01 44 80")));
    EXPECT_TRUE(is_recovery_point(test::from_hex("06 05 02 aabb 06 01 84 80")));  // the second
    EXPECT_FALSE(is_recovery_point(test::from_hex("06 05 02 aabb 80")));
    EXPECT_FALSE(is_recovery_point(test::from_hex("41 06 01 84 80")));  // no SEI
    const Bytes whole = test::from_hex("06 05 02 aabb 06 01 84");
    for (size_t size = 0; size < whole.size(); size++) {
        EXPECT_FALSE(is_recovery_point(ByteSpan(whole).first(size))) << size;
    }
}

}  // namespace
}  // namespace weir::media::avc
