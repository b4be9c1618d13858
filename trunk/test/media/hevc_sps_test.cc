// Sequence parameter sets of HEVC field by field (H.265 §7.3.2.2.1).
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "media/hevc.h"

#include "test/support/bit_writer.h"
#include "test/support/codec_samples.h"

namespace weir::media::hevc {
namespace {

using test::BitWriter;

struct Crop {
    uint32_t left = 0;
    uint32_t right = 0;
    uint32_t top = 0;
    uint32_t bottom = 0;
};

struct Fields {
    unsigned sub_layers_minus1 = 0;
    std::vector<unsigned> present;  // for each lower layer: 2: profile, 1: level
    uint32_t id = 0;
    uint32_t chroma = 1;
    bool separate_planes = false;
    uint32_t width = 640;
    uint32_t height = 360;
    std::optional<Crop> crop;
    uint32_t luma_depth = 8;
    uint32_t chroma_depth = 8;
    uint32_t log2_poc = 8;
    std::vector<uint32_t> reorder = {2};  // of the highest layer, or of each one

    Bytes nal() const {
        BitWriter w;
        w.bits(4, 0).bits(3, sub_layers_minus1).flag(false);
        w.bits(8, 0x02).bits(32, 0x20000000).bits(48, 0x900000000000).bits(8, 93);
        for (unsigned flags : present) {
            w.bits(2, flags);
        }
        if (sub_layers_minus1 > 0) {
            w.bits(2 * (8 - sub_layers_minus1), 0);
        }
        for (unsigned flags : present) {
            w.bits((flags & 2U) != 0 ? 64 : 0, 0xFFFF0000FFFF0000)
                .bits((flags & 2U) != 0 ? 24 : 0, 1);
            w.bits((flags & 1U) != 0 ? 8 : 0, 90);
        }
        w.ue(id).ue(chroma);
        if (chroma == 3) {
            w.flag(separate_planes);
        }
        w.ue(width).ue(height).flag(crop.has_value());
        if (crop) {
            w.ue(crop->left).ue(crop->right).ue(crop->top).ue(crop->bottom);
        }
        w.ue(luma_depth - 8).ue(chroma_depth - 8).ue(log2_poc - 4).flag(reorder.size() > 1);
        for (uint32_t pictures : reorder) {
            w.ue(4).ue(pictures).ue(0);
        }
        w.bits(32, 0xF0F0F0F0);  // blocks and tools, of which nobody reads
        return w.nal({0x42, 0x01});
    }
};

void expect_size(const Fields& fields, uint32_t width, uint32_t height) {
    const auto sps = parse_sps(fields.nal());
    ASSERT_TRUE(sps);
    EXPECT_EQ(sps->width, width);
    EXPECT_EQ(sps->height, height);
}

TEST(HevcSpsTest, ReadsOverTheProfilesAndLevelsOfLowerLayers) {
    Fields fields;
    fields.sub_layers_minus1 = 6;
    fields.present = {0, 1, 2, 3, 3, 1};
    const auto sps = parse_sps(fields.nal());
    ASSERT_TRUE(sps);
    EXPECT_EQ(sps->temporal_layers, 7);
    EXPECT_EQ(sps->profile_idc(), 2);
    EXPECT_EQ(sps->level_idc(), 93) << "of the highest layer";
    EXPECT_EQ(sps->width, 640U);
    EXPECT_EQ(sps->max_reorder_pictures, 2U);
    fields.sub_layers_minus1 = 7;
    fields.present.push_back(0);
    EXPECT_FALSE(parse_sps(fields.nal()));
}

TEST(HevcSpsTest, TheReorderingIsThatOfTheHighestLayer) {
    Fields fields;
    fields.sub_layers_minus1 = 2;
    fields.present = {0, 0};
    fields.reorder = {0, 1, 3};
    EXPECT_EQ(parse_sps(fields.nal())->max_reorder_pictures, 3U);
    fields.reorder = {1};
    EXPECT_EQ(parse_sps(fields.nal())->max_reorder_pictures, 1U);
}

TEST(HevcSpsTest, RefusesWhatIsOneBeyondTheStandard) {
    struct Case {
        uint32_t Fields::*field;
        uint32_t highest;
    };

    for (const Case& c :
         {Case{&Fields::id, 15}, Case{&Fields::chroma, 3}, Case{&Fields::luma_depth, 16},
          Case{&Fields::chroma_depth, 16}, Case{&Fields::log2_poc, 16},
          Case{&Fields::width, 16'384}, Case{&Fields::height, 16'384}}) {
        Fields fields;
        fields.*c.field = c.highest;
        EXPECT_TRUE(parse_sps(fields.nal())) << c.highest;
        fields.*c.field = c.highest + 1;
        EXPECT_FALSE(parse_sps(fields.nal())) << c.highest;
    }
}

TEST(HevcSpsTest, CroppingCountsInChromaSamples) {
    struct Case {
        uint32_t chroma;
        bool separate_planes;
        uint32_t width;
        uint32_t height;
    };

    for (const Case& c :
         {Case{0, false, 637, 353}, Case{1, false, 634, 346}, Case{2, false, 634, 353},
          Case{3, false, 637, 353}, Case{3, true, 637, 353}}) {
        Fields fields;
        fields.chroma = c.chroma;
        fields.separate_planes = c.separate_planes;
        fields.crop = Crop{1, 2, 3, 4};
        SCOPED_TRACE(c.chroma);
        expect_size(fields, c.width, c.height);
    }
}

TEST(HevcSpsTest, SomethingIsLeftOfThePicture) {
    Fields fields;
    fields.crop = Crop{160, 159, 90, 89};
    expect_size(fields, 2, 2);
    fields.crop = Crop{160, 160, 0, 0};
    EXPECT_FALSE(parse_sps(fields.nal()));
    fields.crop = Crop{0, 0, 90, 90};
    EXPECT_FALSE(parse_sps(fields.nal()));
    fields.crop = Crop{0x80000000, 0, 0, 0};
    EXPECT_FALSE(parse_sps(fields.nal()));
    fields.crop.reset();
    fields.width = 0;
    EXPECT_FALSE(parse_sps(fields.nal()));
}

TEST(HevcSpsTest, TheConfigurationRepeatsWhatTheSetSays) {
    Fields fields;
    fields.sub_layers_minus1 = 2;
    fields.present = {3, 0};
    fields.chroma = 2;
    fields.luma_depth = 10;
    fields.chroma_depth = 12;
    const Bytes nal = fields.nal();
    const std::vector<ByteSpan> vps = {test::kHevcVps};
    const std::vector<ByteSpan> sps = {nal};
    const std::vector<ByteSpan> pps = {test::kHevcPps};
    const Bytes record = build_config(vps, sps, pps);
    // ISO/IEC 14496-15 §8.3.3.1.2.
    ASSERT_GT(record.size(), 22U);
    EXPECT_EQ(record[1], 0x02);   // profile
    EXPECT_EQ(record[12], 93);    // level
    EXPECT_EQ(record[16], 0xFE);  // 4:2:2
    EXPECT_EQ(record[17], 0xFA);  // luma - 8
    EXPECT_EQ(record[18], 0xFC);  // chroma - 8
    EXPECT_EQ(record[21], 3 << 3 | 3) << "layers, no nesting, lengths of four bytes";
}

}  // namespace
}  // namespace weir::media::hevc
