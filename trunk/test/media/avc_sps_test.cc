// Sequence parameter sets of H.264 field by field (H.264 §7.3.2.1.1): what cameras and encoders
// other than x264 may send, and what nobody may.
#include <cstdint>
#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include "media/avc.h"

#include "test/support/bit_writer.h"

namespace weir::media::avc {
namespace {

using test::BitWriter;

struct Crop {
    uint32_t left = 0;
    uint32_t right = 0;
    uint32_t top = 0;
    uint32_t bottom = 0;
};

// One set; a test changes the fields it is about.
struct Fields {
    uint8_t profile = 66;
    uint32_t id = 0;
    // Of the high profiles.
    bool high = false;
    uint32_t chroma = 1;
    bool separate = false;  // planes
    uint32_t luma_depth = 8;
    uint32_t chroma_depth = 8;
    std::function<void(BitWriter&)> scaling;
    std::function<void(BitWriter&)> order = [](BitWriter& w) { w.ue(2); };
    uint32_t width_in_macroblocks = 20;
    uint32_t height_in_map_units = 15;
    bool interlaced = false;
    std::optional<Crop> crop;
    std::function<void(BitWriter&)> vui;

    Bytes nal() const {
        BitWriter w;
        w.bits(8, profile).bits(8, 0).bits(8, 30).ue(id);
        if (high) {
            w.ue(chroma);
            if (chroma == 3) {
                w.flag(separate);  // separate_colour_plane_flag
            }
            w.ue(luma_depth - 8).ue(chroma_depth - 8).flag(false).flag(scaling != nullptr);
            if (scaling) {
                scaling(w);
            }
        }
        w.ue(0);
        order(w);
        w.ue(1).flag(false).ue(width_in_macroblocks - 1).ue(height_in_map_units - 1);
        w.flag(!interlaced);
        if (interlaced) {
            w.flag(true);
        }
        w.flag(true).flag(crop.has_value());
        if (crop) {
            w.ue(crop->left).ue(crop->right).ue(crop->top).ue(crop->bottom);
        }
        w.flag(vui != nullptr);
        if (vui) {
            vui(w);
        }
        return w.nal({0x67});
    }
};

Fields high_profile() {
    Fields fields;
    fields.profile = 100;
    fields.high = true;
    return fields;
}

void expect_size(const Fields& fields, uint32_t width, uint32_t height) {
    const auto sps = parse_sps(fields.nal());
    ASSERT_TRUE(sps);
    EXPECT_EQ(sps->width, width);
    EXPECT_EQ(sps->height, height);
}

TEST(AvcSpsTest, IdsGoUpTo31) {
    Fields fields;
    fields.id = 31;
    EXPECT_EQ(parse_sps(fields.nal())->id, 31U);
    fields.id = 32;
    EXPECT_FALSE(parse_sps(fields.nal()));
}

TEST(AvcSpsTest, EveryHighProfileSaysChromaAndDepths) {
    Fields fields = high_profile();
    fields.chroma = 2;
    fields.luma_depth = 10;
    fields.chroma_depth = 9;
    for (uint8_t profile : Bytes{44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244}) {
        fields.profile = profile;
        const auto sps = parse_sps(fields.nal());
        ASSERT_TRUE(sps) << int{profile};
        EXPECT_EQ(sps->chroma_format_idc, 2U) << int{profile};
        EXPECT_EQ(sps->bit_depth_luma, 10U) << int{profile};
        EXPECT_EQ(sps->bit_depth_chroma, 9U) << int{profile};
        EXPECT_EQ(sps->width, 320U) << int{profile};
    }
}

TEST(AvcSpsTest, TheMainAndExtendedProfilesSayNeither) {
    for (uint8_t profile : Bytes{66, 77, 88}) {
        Fields fields;
        fields.profile = profile;
        expect_size(fields, 320, 240);
    }
}

TEST(AvcSpsTest, RefusesChromaFormatsAndDepthsThatDoNotExist) {
    Fields fields = high_profile();
    fields.chroma = 4;
    EXPECT_FALSE(parse_sps(fields.nal()));
    fields = high_profile();
    fields.luma_depth = 14;
    fields.chroma_depth = 14;
    EXPECT_EQ(parse_sps(fields.nal())->bit_depth_luma, 14U);
    fields.luma_depth = 15;
    EXPECT_FALSE(parse_sps(fields.nal()));
    fields.luma_depth = 14;
    fields.chroma_depth = 15;
    EXPECT_FALSE(parse_sps(fields.nal()));
}

TEST(AvcSpsTest, CroppingCountsInChromaSamplesAndPairsOfLines) {
    struct Case {
        uint32_t chroma;
        bool interlaced;
        uint32_t width;
        uint32_t height;
    };

    // 320 by 240 or 480; one unit from the left, two from the right, three and four of the height.
    for (const Case& c :
         {Case{0, false, 317, 233}, Case{1, false, 314, 226}, Case{2, false, 314, 233},
          Case{3, false, 317, 233}, Case{0, true, 317, 466}, Case{1, true, 314, 452},
          Case{2, true, 314, 466}, Case{3, true, 317, 466}}) {
        Fields fields = high_profile();
        fields.chroma = c.chroma;
        fields.interlaced = c.interlaced;
        fields.crop = Crop{1, 2, 3, 4};
        SCOPED_TRACE(testing::Message() << c.chroma << (c.interlaced ? " interlaced" : ""));
        expect_size(fields, c.width, c.height);
    }
}

TEST(AvcSpsTest, SomethingIsLeftOfThePicture) {
    Fields fields;
    fields.crop = Crop{79, 80, 0, 0};
    expect_size(fields, 2, 240);
    fields.crop = Crop{80, 80, 0, 0};
    EXPECT_FALSE(parse_sps(fields.nal()));
    fields.crop = Crop{0, 0, 60, 59};
    expect_size(fields, 320, 2);
    fields.crop = Crop{0, 0, 60, 60};
    EXPECT_FALSE(parse_sps(fields.nal()));
    // Twice 2^31 is not 0.
    fields.crop = Crop{0x80000000, 0, 0, 0};
    EXPECT_FALSE(parse_sps(fields.nal()));
    fields.crop = Crop{0, 0, 0, 0x80000000};
    EXPECT_FALSE(parse_sps(fields.nal()));
}

TEST(AvcSpsTest, SidesHaveUpTo16384Pixels) {
    Fields fields;
    fields.width_in_macroblocks = 1024;
    fields.height_in_map_units = 1024;
    expect_size(fields, 16'384, 16'384);
    fields.width_in_macroblocks = 1025;
    EXPECT_FALSE(parse_sps(fields.nal()));
    fields.width_in_macroblocks = 1024;
    fields.height_in_map_units = 1025;
    EXPECT_FALSE(parse_sps(fields.nal()));
    fields.interlaced = true;
    fields.height_in_map_units = 512;
    expect_size(fields, 16'384, 16'384);
    fields.height_in_map_units = 513;
    EXPECT_FALSE(parse_sps(fields.nal()));
    // 2^28 macroblocks are 2^32 pixels, not 0; nor does cropping make them fewer.
    fields.height_in_map_units = 15;
    fields.width_in_macroblocks = 0x10000000;
    EXPECT_FALSE(parse_sps(fields.nal()));
    fields.width_in_macroblocks = 1025;
    fields.crop = Crop{8, 8, 0, 0};
    EXPECT_FALSE(parse_sps(fields.nal()));
}

TEST(AvcSpsTest, ReadsEachKindOfPictureOrder) {
    Fields fields;
    fields.order = [](BitWriter& w) { w.ue(0).ue(4); };
    EXPECT_EQ(parse_sps(fields.nal())->poc_type, 0U);
    EXPECT_EQ(parse_sps(fields.nal())->poc_lsb_bits, 8U);
    EXPECT_FALSE(parse_sps(fields.nal())->poc_deltas);
    expect_size(fields, 320, 240);
    uint32_t cycle = 255;
    bool always_zero = true;  // delta_pic_order_always_zero_flag
    fields.order = [&](BitWriter& w) {
        w.ue(1).flag(always_zero).se(-3).se(INT32_MAX).ue(cycle);
        for (uint32_t i = 0; i < cycle; i++) {
            w.se(static_cast<int32_t>(i) - 100);
        }
    };
    EXPECT_EQ(parse_sps(fields.nal())->poc_type, 1U);
    EXPECT_EQ(parse_sps(fields.nal())->poc_lsb_bits, 0U);
    EXPECT_FALSE(parse_sps(fields.nal())->poc_deltas);
    always_zero = false;
    EXPECT_TRUE(parse_sps(fields.nal())->poc_deltas);
    expect_size(fields, 320, 240);
    cycle = 256;
    EXPECT_FALSE(parse_sps(fields.nal()));
    fields.order = [](BitWriter& w) { w.ue(3); };
    EXPECT_FALSE(parse_sps(fields.nal()));
}

TEST(AvcSpsTest, ReadsOverScalingLists) {
    for (uint32_t chroma : {1U, 3U}) {
        Fields fields = high_profile();
        fields.chroma = chroma;
        fields.scaling = [chroma](BitWriter& w) {
            const int lists = chroma == 3 ? 12 : 8;
            for (int i = 0; i < lists; i++) {
                w.flag(i != 2);
                if (i == 3) {
                    w.se(5).se(-13);  // the second one makes 0: the rest is not written
                } else if (i != 2) {
                    const int size = i < 6 ? 16 : 64;
                    w.se(-8 + 256 - 5);  // wraps: 8 + 243 is 251
                    for (int j = 1; j < size; j++) {
                        w.se(j % 2 == 0 ? -2 : 2);
                    }
                }
            }
        };
        SCOPED_TRACE(chroma);
        expect_size(fields, 320, 240);
    }
}

// H.264 §E.1.2.
void write_hrd(BitWriter& w, uint32_t count) {
    w.ue(count - 1).bits(8, 0x21);
    for (uint32_t i = 0; i < count; i++) {
        w.ue(1000 + i).ue(7).flag(i % 2 == 0);
    }
    w.bits(20, 0xABCDE);
}

// H.264 §E.1.1, with everything that may be there.
void write_full_vui(BitWriter& w, uint32_t hrd_count, uint32_t reorder) {
    w.flag(true).bits(8, 255).bits(32, 0x00400021);           // extended aspect ratio
    w.flag(true).flag(true);                                  // overscan
    w.flag(true).bits(4, 0xB).flag(true).bits(24, 0x010101);  // video signal, colours
    w.flag(true).ue(1).ue(2);                                 // place of the chroma samples
    w.flag(true).bits(32, 1).bits(32, 50).flag(true);         // timing
    w.flag(true);
    write_hrd(w, hrd_count);
    w.flag(true);
    write_hrd(w, 1);
    w.flag(false).flag(true);
    w.flag(true).flag(true).ue(2).ue(1).ue(16).ue(16).ue(reorder).ue(4);
}

TEST(AvcSpsTest, SeparatePlanesHaveTwelveScalingLists) {
    Fields fields = high_profile();
    fields.chroma = 3;
    fields.separate = true;
    fields.scaling = [](BitWriter& w) { w.bits(11, 0).flag(true).se(-8); };
    expect_size(fields, 320, 240);
}

TEST(AvcSpsTest, FindsTheReorderingBehindAllElseOfTheVui) {
    Fields fields;
    uint32_t hrd_count = 1;
    fields.vui = [&](BitWriter& w) { write_full_vui(w, hrd_count, 3); };
    EXPECT_EQ(parse_sps(fields.nal())->max_reorder_frames, 3U);
    hrd_count = 32;
    EXPECT_EQ(parse_sps(fields.nal())->max_reorder_frames, 3U);
}

TEST(AvcSpsTest, ABrokenVuiCostsOnlyWhatItWouldHaveSaid) {
    Fields fields;
    fields.vui = [](BitWriter& w) { write_full_vui(w, 33, 3); };
    const auto too_many = parse_sps(fields.nal());
    ASSERT_TRUE(too_many);
    EXPECT_FALSE(too_many->max_reorder_frames);
    EXPECT_EQ(too_many->width, 320U);

    const size_t without = Fields().nal().size();
    fields.vui = [](BitWriter& w) { write_full_vui(w, 2, 3); };
    const Bytes whole = fields.nal();
    for (size_t size = without + 1; size + 2 < whole.size(); size++) {
        const auto cut = parse_sps(ByteSpan(whole).first(size));
        ASSERT_TRUE(cut) << size;
        EXPECT_FALSE(cut->max_reorder_frames) << size;
        EXPECT_EQ(cut->height, 240U) << size;
    }
}

TEST(AvcSpsTest, AVuiWithoutRestrictionsSaysNoReordering) {
    Fields fields;
    fields.vui = [](BitWriter& w) { w.bits(9, 0); };
    const auto sps = parse_sps(fields.nal());
    ASSERT_TRUE(sps);
    EXPECT_FALSE(sps->max_reorder_frames);
    EXPECT_FALSE(parse_sps(Fields().nal())->max_reorder_frames);
}

}  // namespace
}  // namespace weir::media::avc
