// Sequence parameter sets of HEVC field by field (H.265 §7.3.2.2.1).
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
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
    std::function<void(BitWriter&)> tools = [](BitWriter& w) {
        w.bits(32, 0xF0F0F0F0);  // which parse_sps() does not read
    };

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
        tools(w);
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

// ---- the fields of a slice header ----

// H.265 §7.3.2.2.1 behind the reordering. A test changes the fields that it is about.
struct Tools {
    std::function<void(BitWriter&)> scaling;  // scaling_list_data()
    bool offset = false;                      // sample_adaptive_offset_enabled_flag
    bool pcm = false;
    uint32_t short_term = 0;
    std::function<void(BitWriter&)> sets;  // so many st_ref_pic_set()
    std::optional<uint32_t> long_term;     // their number; nothing: not enabled
    unsigned poc_bits = 8;                 // of each of these
    bool motion = false;                   // sps_temporal_mvp_enabled_flag

    void operator()(BitWriter& w) const {
        w.ue(0).ue(3).ue(0).ue(3).ue(1).ue(1);
        w.flag(scaling != nullptr);
        if (scaling) {
            w.flag(true);
            scaling(w);
        }
        w.flag(true).flag(offset).flag(pcm);
        if (pcm) {
            w.bits(8, 0x77).ue(0).ue(2).flag(true);
        }
        w.ue(short_term);
        if (sets) {
            sets(w);
        }
        w.flag(long_term.has_value());
        if (long_term) {
            w.ue(*long_term);
            for (uint32_t i = 0; i < *long_term; i++) {
                w.bits(poc_bits, i).flag(true);
            }
        }
        w.flag(motion);
    }
};

std::optional<SliceFields> slice_fields(const Tools& tools, Fields fields = {}) {
    fields.tools = tools;
    return parse_slice_fields(fields.nal());
}

TEST(HevcSpsTest, FindsTheFieldsOfASliceBehindAllTools) {
    Tools tools;
    const auto least = slice_fields(tools);
    ASSERT_TRUE(least);
    EXPECT_EQ(least->poc_lsb_bits, 8U);
    EXPECT_TRUE(least->chroma);
    EXPECT_FALSE(least->colour_plane || least->sample_adaptive_offset || least->long_term ||
                 least->temporal_motion);
    EXPECT_EQ(least->short_term_sets, 0U);

    tools.scaling = [](BitWriter& w) {
        for (unsigned size = 0; size < 4; size++) {
            for (unsigned matrix = 0; matrix < (size == 3 ? 2U : 6U); matrix++) {
                if (matrix % 2 == 1) {
                    w.flag(false).ue(1);
                    continue;
                }
                w.flag(true);
                const unsigned values = (size == 0 ? 16U : 64U) + (size > 1 ? 1U : 0U);
                for (unsigned i = 0; i < values; i++) {
                    w.se(i % 2 == 0 ? 3 : -3);
                }
            }
        }
    };
    tools.offset = true;
    tools.pcm = true;
    tools.short_term = 3;
    tools.sets = [](BitWriter& w) {
        w.ue(2).ue(1).ue(0).flag(true).ue(1).flag(false).ue(0).flag(true);  // three pictures
        // Predicted of these: the current one and three, of which one is left out.
        w.flag(true).flag(false).ue(0).flag(true).flag(false).flag(false).flag(false).flag(true);
        w.flag(true);
        // Of three again.
        w.flag(true).flag(true).ue(4).flag(true).flag(true).flag(true).flag(true);
    };
    tools.long_term = 2;
    tools.motion = true;
    const auto most = slice_fields(tools);
    ASSERT_TRUE(most);
    EXPECT_TRUE(most->sample_adaptive_offset);
    EXPECT_EQ(most->short_term_sets, 3U);
    EXPECT_TRUE(most->long_term);
    EXPECT_EQ(most->long_term_pictures, 2U);
    EXPECT_TRUE(most->temporal_motion);
}

TEST(HevcSpsTest, SlicesOfSeparatePlanesHaveNoChroma) {
    for (const auto& [chroma, planes, has] :
         {std::tuple(0U, false, false), {1U, false, true}, {3U, false, true}, {3U, true, false}}) {
        Fields fields;
        fields.chroma = chroma;
        fields.separate_planes = planes;
        const auto found = slice_fields({}, fields);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->chroma, has) << chroma;
        EXPECT_EQ(found->colour_plane, planes) << chroma;
    }
}

TEST(HevcSpsTest, RefusesMoreSetsAndPicturesThanThereCanBe) {
    Tools tools;
    uint32_t pictures = 16;
    tools.sets = [&](BitWriter& w) {
        for (uint32_t i = 0; i < tools.short_term; i++) {
            w.bits(i > 0 ? 1 : 0, 0).ue(pictures).ue(0);
            for (uint32_t j = 0; j < pictures; j++) {
                w.ue(0).flag(true);
            }
        }
    };
    tools.short_term = 64;
    EXPECT_TRUE(slice_fields(tools));
    tools.short_term = 65;
    EXPECT_FALSE(slice_fields(tools));
    tools.short_term = 1;
    pictures = 17;
    EXPECT_FALSE(slice_fields(tools));
    tools = {};
    tools.long_term = 32;
    EXPECT_TRUE(slice_fields(tools));
    tools.long_term = 33;
    EXPECT_FALSE(slice_fields(tools));
}

TEST(HevcSpsTest, ASetThatEndsTooEarlyHasNoFieldsOfASlice) {
    Fields fields;
    fields.tools = Tools{};
    const Bytes whole = fields.nal();
    ASSERT_TRUE(parse_slice_fields(whole));
    EXPECT_FALSE(parse_slice_fields(ByteSpan(whole).first(whole.size() - 2)));
    EXPECT_FALSE(parse_slice_fields(test::kHevcPps));
    EXPECT_FALSE(parse_slice_fields({}));
}

TEST(HevcSpsTest, ReadsTheFieldsOfASliceOfX265) {
    const auto fields = parse_slice_fields(test::kHevcSps);
    ASSERT_TRUE(fields);
    EXPECT_EQ(fields->poc_lsb_bits, 8U);
    EXPECT_TRUE(fields->sample_adaptive_offset);
    EXPECT_EQ(fields->short_term_sets, 0U);
    EXPECT_FALSE(fields->long_term);
    EXPECT_TRUE(fields->temporal_motion);
}

}  // namespace
}  // namespace weir::media::hevc
