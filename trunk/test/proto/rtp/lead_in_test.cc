// Lead-ins field by field, against H.264 §7.3 and H.265 §7.3.
#include "proto/rtp/lead_in.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "media/avc.h"
#include "media/bit_reader.h"
#include "media/hevc.h"

#include "test/support/bit_writer.h"
#include "test/support/codec_samples.h"

namespace weir::rtp {
namespace {

using media::BitReader;
using media::Codec;
using test::BitWriter;
using test::from_hex;

// The units of an aggregation packet behind its header.
std::vector<Bytes> units_of(ByteSpan payload, size_t header_size) {
    std::vector<Bytes> units;
    ByteReader reader(payload.subspan(std::min(header_size, payload.size())));
    while (!reader.empty() && reader.ok()) {
        const ByteSpan unit = reader.take(reader.u16());
        units.emplace_back(unit.begin(), unit.end());
    }
    EXPECT_TRUE(reader.ok());
    return units;
}

BitReader behind(const Bytes& nal, size_t header_size) {
    return BitReader(ByteSpan(nal).subspan(header_size), BitReader::Escapes::kNalUnit);
}

// The stop bit, zeros to the end of the byte, and nothing else.
void expect_end(BitReader& reader, const Bytes& nal, size_t header_size) {
    EXPECT_TRUE(reader.flag());
    while (reader.position() % 8 != 0) {
        EXPECT_FALSE(reader.flag());
    }
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reader.position() / 8 + header_size, nal.size());
}

// ---- H.264 ----

struct AvcFields {
    uint8_t profile = 77;
    uint32_t sps_id = 0;
    bool separate_planes = false;  // with profile 244
    uint32_t frame_num_bits = 4;
    std::function<void(BitWriter&)> order = [](BitWriter& w) { w.ue(0).ue(2); };
    bool interlaced = false;
    std::optional<uint32_t> reorder;  // max_num_reorder_frames
    std::vector<uint32_t> pps_ids = {0};

    Bytes config() const {
        BitWriter w;
        w.bits(8, profile).bits(8, 0).bits(8, 30).ue(sps_id);
        if (profile == 244) {
            w.ue(3).flag(separate_planes).ue(0).ue(0).flag(false).flag(false);
        }
        w.ue(frame_num_bits - 4);
        order(w);
        w.ue(2).flag(false).ue(19).ue(14).flag(!interlaced);
        w.bits(interlaced ? 1 : 0, 0).flag(true).flag(false).flag(reorder.has_value());
        if (reorder) {
            w.bits(8, 0).flag(true).flag(true).ue(0).ue(0).ue(16).ue(16).ue(*reorder).ue(4);
        }
        const Bytes sps = w.nal({0x67});
        std::vector<Bytes> pps;
        for (const uint32_t id : pps_ids) {
            pps.push_back(BitWriter().ue(id).ue(sps_id).bits(8, 0xFF).nal({0x68}));
        }
        const std::vector<ByteSpan> sps_spans = {sps};
        const std::vector<ByteSpan> pps_spans(pps.begin(), pps.end());
        return media::avc::build_config(sps_spans, pps_spans);
    }

    std::vector<Bytes> units() const {
        const Bytes payload = make_lead_in(Codec::kH264, config());
        return units_of(payload, 1);
    }
};

TEST(LeadInTest, OfX264) {
    EXPECT_EQ(make_lead_in(Codec::kH264, test::kAvcHighConfig),
              from_hex("78 0006 6800804e3980 0007 01980200 0022a0 0001 0a"));
}

TEST(LeadInTest, ThePpsOfH264HasRedundantPicturesAndNoOtherTool) {
    AvcFields fields;
    fields.sps_id = 3;
    const std::vector<Bytes> units = fields.units();
    ASSERT_EQ(units.size(), 3U);
    EXPECT_EQ(units[0][0], 0x68);
    BitReader pps = behind(units[0], 1);
    EXPECT_EQ(pps.ue(), 255U);       // pic_parameter_set_id
    EXPECT_EQ(pps.ue(), 3U);         // seq_parameter_set_id
    EXPECT_EQ(pps.bits(2), 0U);      // entropy_coding_mode, bottom_field_pic_order_in_frame_present
    EXPECT_EQ(pps.ue(), 0U);         // num_slice_groups_minus1
    EXPECT_EQ(pps.ue(), 0U);         // num_ref_idx_l0_default_active_minus1
    EXPECT_EQ(pps.ue(), 0U);         // num_ref_idx_l1_default_active_minus1
    EXPECT_EQ(pps.bits(3), 0U);      // weighted_pred_flag, weighted_bipred_idc
    EXPECT_EQ(pps.se(), 0);          // pic_init_qp_minus26
    EXPECT_EQ(pps.se(), 0);          // pic_init_qs_minus26
    EXPECT_EQ(pps.se(), 0);          // chroma_qp_index_offset
    EXPECT_EQ(pps.bits(3), 0b001U);  // deblocking control, constrained intra, redundant_pic_cnt
    expect_end(pps, units[0], 1);
}

// What a slice has in front of pic_order_cnt and in its place depends on the SPS.
TEST(LeadInTest, TheSliceOfH264FitsItsSps) {
    struct Case {
        const char* what;
        std::function<void(AvcFields&)> change;
        unsigned plane = 0;
        unsigned frame_num = 4;
        unsigned field = 0;
        unsigned lsb = 6;
        bool delta = false;
    };

    const auto order_1 = [](bool always_zero) {
        return [always_zero](BitWriter& w) { w.ue(1).flag(always_zero).se(0).se(0).ue(0); };
    };
    for (const Case& c : {
             Case{"frames", [](AvcFields&) {}},
             Case{"fields", [](AvcFields& f) { f.interlaced = true; }, 0, 4, 1},
             Case{"long numbers",
                  [](AvcFields& f) {
                      f.frame_num_bits = 16;
                      f.order = [](BitWriter& w) { w.ue(0).ue(12); };
                  },
                  0, 16, 0, 16},
             Case{"planes",
                  [](AvcFields& f) {
                      f.profile = 244;
                      f.separate_planes = true;
                  },
                  2},
             Case{"order 1", [&](AvcFields& f) { f.order = order_1(false); }, 0, 4, 0, 0, true},
             Case{"order 1, zero", [&](AvcFields& f) { f.order = order_1(true); }, 0, 4, 0, 0},
         }) {
        SCOPED_TRACE(c.what);
        AvcFields fields;
        c.change(fields);
        const std::vector<Bytes> units = fields.units();
        ASSERT_EQ(units.size(), 3U);
        EXPECT_EQ(units[1][0], 0x01) << "no IDR picture, and nothing refers to it";
        BitReader slice = behind(units[1], 1);
        EXPECT_EQ(slice.ue(), 0U);    // first_mb_in_slice
        EXPECT_EQ(slice.ue(), 5U);    // slice_type: P, all of the picture
        EXPECT_EQ(slice.ue(), 255U);  // pic_parameter_set_id
        EXPECT_EQ(slice.bits(c.plane), 0U);
        EXPECT_EQ(slice.bits(c.frame_num), 0U);
        EXPECT_EQ(slice.bits(c.field), 0U);
        EXPECT_EQ(slice.bits(c.lsb), 0U);
        if (c.delta) {
            EXPECT_EQ(slice.se(), 0);
        }
        EXPECT_EQ(slice.ue(), 1U) << "redundant_pic_cnt";
        EXPECT_EQ(slice.bits(2), 0U);  // num_ref_idx_active_override, ref_pic_list_modification
        EXPECT_EQ(slice.se(), 0);      // slice_qp_delta
        EXPECT_EQ(slice.ue(), 1U);     // mb_skip_run
        expect_end(slice, units[1], 1);
        EXPECT_EQ(units[2], Bytes{0x0A}) << "end of sequence";
    }
}

TEST(LeadInTest, TakesThePpsNumberThatTheStreamDoesNotUse) {
    AvcFields fields;
    fields.pps_ids = {255, 0, 254};
    const std::vector<Bytes> units = fields.units();
    ASSERT_EQ(units.size(), 3U);
    EXPECT_EQ(behind(units[0], 1).ue(), 253U);
    BitReader slice = behind(units[1], 1);
    slice.ue();
    slice.ue();
    EXPECT_EQ(slice.ue(), 253U);
}

TEST(LeadInTest, IsForStreamsOfH264ThatMayBeReordered) {
    EXPECT_TRUE(make_lead_in(Codec::kH264, test::kAvcBaselineConfig).empty());
    AvcFields fields;
    fields.reorder = 0;
    EXPECT_TRUE(fields.units().empty()) << "the VUI says that it is not";
    fields.reorder = 1;
    EXPECT_FALSE(fields.units().empty());
    fields.reorder.reset();
    EXPECT_FALSE(fields.units().empty()) << "nothing says so";
    fields.profile = 66;
    EXPECT_TRUE(fields.units().empty()) << "the baseline profile has no B slices";
    fields.profile = 77;
    fields.order = [](BitWriter& w) { w.ue(2); };
    EXPECT_TRUE(fields.units().empty()) << "shown in the order of decoding";
}

// ---- HEVC ----

Bytes hevc_config(const Bytes& sps, const std::vector<Bytes>& pps) {
    const std::vector<ByteSpan> vps_spans = {test::kHevcVps};
    const std::vector<ByteSpan> sps_spans = {sps};
    const std::vector<ByteSpan> pps_spans(pps.begin(), pps.end());
    return media::hevc::build_config(vps_spans, sps_spans, pps_spans);
}

struct HevcFields {
    uint32_t chroma = 1;
    bool separate_planes = false;
    uint32_t poc_bits = 4;
    uint32_t reorder = 2;
    bool offset = false;
    uint32_t short_term = 0;
    std::optional<uint32_t> long_term = std::nullopt;
    bool motion = false;

    std::vector<Bytes> units() const {
        BitWriter w;
        w.bits(7, 0).flag(false).bits(8, 1).bits(32, 0x60000000).bits(48, 0).bits(8, 93);
        w.ue(2).ue(chroma).bits(chroma == 3 ? 1 : 0, separate_planes ? 1 : 0);
        w.ue(640).ue(360).flag(false).ue(0).ue(0).ue(poc_bits - 4).flag(false);
        w.ue(4).ue(reorder).ue(0);
        w.ue(0).ue(3).ue(0).ue(3).ue(1).ue(1).flag(false).flag(false).flag(offset).flag(false);
        w.ue(short_term);
        for (uint32_t i = 0; i < short_term; i++) {
            w.bits(i > 0 ? 1 : 0, 0).ue(1).ue(0).ue(0).flag(true);
        }
        w.flag(long_term.has_value());
        if (long_term) {
            w.ue(*long_term);
            for (uint32_t i = 0; i < *long_term; i++) {
                w.bits(poc_bits, i).flag(true);
            }
        }
        w.flag(motion).bits(8, 0);
        const Bytes sps = w.nal({0x42, 0x01});
        const Bytes payload = make_lead_in(Codec::kHevc, hevc_config(sps, {test::kHevcPps}));
        return units_of(payload, 2);
    }
};

TEST(LeadInTest, OfX265) {
    EXPECT_EQ(make_lead_in(Codec::kHevc, hevc_config(test::kHevcSps, {test::kHevcPps})),
              from_hex("6001 0008 4401020507180120 0002 4801 0008 100181018018c080"));
}

TEST(LeadInTest, ThePpsOfHevcHasNoTool) {
    const std::vector<Bytes> units = HevcFields().units();
    ASSERT_EQ(units.size(), 3U);
    EXPECT_EQ(units[0][0], 34 << 1);
    EXPECT_EQ(units[0][1], 1);
    BitReader pps = behind(units[0], 2);
    EXPECT_EQ(pps.ue(), 63U);       // pps_pic_parameter_set_id
    EXPECT_EQ(pps.ue(), 2U);        // pps_seq_parameter_set_id
    EXPECT_EQ(pps.bits(7), 0x20U);  // dependent slices, output_flag_present_flag ...
    EXPECT_EQ(pps.ue(), 0U);        // num_ref_idx_l0_default_active_minus1
    EXPECT_EQ(pps.ue(), 0U);        // num_ref_idx_l1_default_active_minus1
    EXPECT_EQ(pps.se(), 0);         // init_qp_minus26
    EXPECT_EQ(pps.bits(3), 0U);     // constrained_intra_pred ... cu_qp_delta_enabled_flag
    EXPECT_EQ(pps.se(), 0);         // pps_cb_qp_offset
    EXPECT_EQ(pps.se(), 0);         // pps_cr_qp_offset
    EXPECT_EQ(pps.bits(10), 0U);    // chroma offsets ... lists_modification_present_flag
    EXPECT_EQ(pps.ue(), 0U);        // log2_parallel_merge_level_minus2
    EXPECT_EQ(pps.bits(2), 0U);     // slice header extension, pps_extension_present_flag
    expect_end(pps, units[0], 2);
}

TEST(LeadInTest, TheSliceOfHevcFitsItsSps) {
    struct Case {
        const char* what;
        HevcFields fields;
        unsigned between = 0;  // bits of fields that depend on the SPS behind the picture order
        unsigned plane = 0;
    };

    for (const Case& c : {
             Case{"least", {}, 0},
             Case{"long picture order", {.poc_bits = 16}, 0},
             Case{"short-term sets", {.short_term = 2}, 0},
             Case{"long-term pictures", {.long_term = 0}, 1},
             Case{"long-term pictures of the SPS", {.long_term = 3}, 2},
             Case{"motion", {.motion = true}, 1},
             Case{"offset", {.offset = true}, 2},
             Case{"offset of luma", {.chroma = 0, .offset = true}, 1},
             Case{"planes", {.chroma = 3, .separate_planes = true, .offset = true}, 1, 2},
         }) {
        SCOPED_TRACE(c.what);
        const std::vector<Bytes> units = c.fields.units();
        ASSERT_EQ(units.size(), 3U);
        EXPECT_EQ(units[2][0], 8 << 1) << "RASL_N";
        EXPECT_EQ(units[2][1], 1);
        BitReader slice = behind(units[2], 2);
        EXPECT_TRUE(slice.flag());   // first_slice_segment_in_pic_flag
        EXPECT_EQ(slice.ue(), 63U);  // slice_pic_parameter_set_id
        EXPECT_EQ(slice.ue(), 2U);   // slice_type: I
        EXPECT_FALSE(slice.flag());  // pic_output_flag
        EXPECT_EQ(slice.bits(c.plane), 0U);
        EXPECT_EQ(slice.bits(c.fields.poc_bits), 0U);
        EXPECT_FALSE(slice.flag());  // short_term_ref_pic_set_sps_flag
        if (c.fields.short_term > 0) {
            EXPECT_FALSE(slice.flag());  // inter_ref_pic_set_prediction_flag
        }
        EXPECT_EQ(slice.ue(), 0U);  // num_negative_pics
        EXPECT_EQ(slice.ue(), 0U);  // num_positive_pics
        // num_long_term_* are ue(0): a bit 1.
        const uint32_t numbers = c.fields.long_term ? (1U << c.between) - 1 : 0;
        EXPECT_EQ(slice.bits(c.between), numbers);
        EXPECT_EQ(slice.se(), 0);   // slice_qp_delta
        EXPECT_TRUE(slice.flag());  // byte_alignment()
        while (slice.position() % 8 != 0) {
            EXPECT_FALSE(slice.flag());
        }
        expect_end(slice, units[2], 2);
        EXPECT_EQ(units[1], (Bytes{36 << 1, 1})) << "end of sequence";
    }
}

TEST(LeadInTest, TakesThePpsNumberOfHevcThatTheStreamDoesNotUse) {
    std::vector<Bytes> pps;
    for (const uint32_t id : {63U, 62U, 0U}) {
        pps.push_back(BitWriter().ue(id).ue(0).bits(8, 0xFF).nal({0x44, 0x01}));
    }
    const Bytes payload = make_lead_in(Codec::kHevc, hevc_config(test::kHevcSps, pps));
    const std::vector<Bytes> units = units_of(payload, 2);
    ASSERT_EQ(units.size(), 3U);
    EXPECT_EQ(behind(units[0], 2).ue(), 61U);
}

TEST(LeadInTest, IsForStreamsOfHevcThatAreReordered) {
    HevcFields fields;
    fields.reorder = 0;
    EXPECT_TRUE(fields.units().empty());
    fields.reorder = 1;
    EXPECT_FALSE(fields.units().empty());
}

// ---- both ----

TEST(LeadInTest, ThereIsNoneOfOtherCodecsAndBrokenConfigurations) {
    EXPECT_TRUE(make_lead_in(Codec::kAv1, test::kAv1Config).empty());
    EXPECT_TRUE(make_lead_in(Codec::kUnknown, {}).empty());
    const Bytes hevc = hevc_config(test::kHevcSps, {test::kHevcPps});
    for (const auto& [codec, config] :
         {std::pair(Codec::kH264, test::kAvcHighConfig), std::pair(Codec::kHevc, hevc)}) {
        EXPECT_TRUE(make_lead_in(codec, {}).empty());
        for (size_t size = 0; size < 16; size++) {
            EXPECT_TRUE(make_lead_in(codec, ByteSpan(config).first(size)).empty()) << size;
        }
    }
}

TEST(LeadInTest, FitsAPacket) {
    AvcFields avc;
    avc.profile = 244;
    avc.separate_planes = true;
    avc.frame_num_bits = 16;
    avc.order = [](BitWriter& w) { w.ue(0).ue(12); };
    EXPECT_LE(make_lead_in(Codec::kH264, avc.config()).size(), 100U);
}

}  // namespace
}  // namespace weir::rtp
