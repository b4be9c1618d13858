#include "media/hevc.h"

#include <algorithm>

#include "media/bit_reader.h"
#include "media/cropped_size.h"

namespace weir::media::hevc {
namespace {

constexpr uint32_t kMaxSpsId = 15;
constexpr uint32_t kMaxBitDepthMinus8 = 8;
constexpr uint32_t kMaxLog2PocMinus4 = 12;
constexpr uint8_t kMaxSubLayersMinus1 = 6;
constexpr uint32_t kMaxReferences = 16;        // of a picture, H.265 §A.4.2
constexpr uint32_t kMaxShortTermSets = 64;     // H.265 §7.4.3.2.1
constexpr uint32_t kMaxLongTermPictures = 32;  // the same
constexpr size_t kGeneralProfileBytes = 12;
constexpr size_t kConfigFixedSize = 22;

// H.265 §7.3.3: what it says of temporal layers below the highest one.
void skip_sub_layers(BitReader& reader, uint8_t max_sub_layers_minus1) {
    if (max_sub_layers_minus1 == 0) {
        return;
    }
    uint32_t present = 0;  // two flags each: profile, level
    for (unsigned i = 0; i < 8; i++) {
        present = present << 2U | reader.bits(2);
    }
    for (unsigned i = 0; i < max_sub_layers_minus1; i++) {
        const uint32_t flags = present >> (2 * (7 - i)) & 3U;
        reader.skip(size_t{(flags & 2U) != 0 ? 88U : 0U} + ((flags & 1U) != 0 ? 8U : 0U));
    }
}

void read_size(BitReader& reader, Sps& sps, SliceFields& fields) {
    sps.chroma_format_idc = reader.ue();
    if (sps.chroma_format_idc > 3) {
        reader.fail();
    }
    const bool separate_planes = sps.chroma_format_idc == 3 && reader.flag();
    fields.colour_plane = separate_planes;
    fields.chroma = sps.chroma_format_idc != 0 && !separate_planes;
    const uint32_t width = reader.ue();
    const uint32_t height = reader.ue();
    // H.265 §7.4.3.2.1: in units of a chroma sample.
    const bool whole = sps.chroma_format_idc == 0 || separate_planes;
    const uint64_t unit_x = !whole && sps.chroma_format_idc <= 2 ? 2 : 1;
    const uint64_t unit_y = !whole && sps.chroma_format_idc == 1 ? 2 : 1;
    read_cropped_size(reader, width, height, unit_x, unit_y, sps.width, sps.height);
}

// The first fields of a SPS. False: it is not whole, or says what cannot be.
bool read_sps(BitReader& reader, Sps& sps, SliceFields& fields) {
    reader.skip(4);  // sps_video_parameter_set_id
    const auto sub_layers = static_cast<uint8_t>(reader.bits(3));
    if (sub_layers > kMaxSubLayersMinus1) {
        return false;
    }
    sps.temporal_layers = static_cast<uint8_t>(sub_layers + 1);
    sps.temporal_id_nesting = reader.flag();
    for (uint8_t& byte : sps.profile_tier_level) {
        byte = static_cast<uint8_t>(reader.bits(8));
    }
    skip_sub_layers(reader, sub_layers);
    sps.id = reader.ue();
    read_size(reader, sps, fields);
    const uint32_t luma = reader.ue();
    const uint32_t chroma = reader.ue();
    const uint32_t log2_poc = reader.ue();
    const bool each_layer = reader.flag();  // sps_sub_layer_ordering_info_present_flag
    for (unsigned i = each_layer ? 0 : sub_layers; i <= sub_layers && reader.ok(); i++) {
        reader.ue();
        sps.max_reorder_pictures = reader.ue();  // the last one is that of the highest layer
        reader.ue();
    }
    if (!reader.ok() || sps.id > kMaxSpsId || luma > kMaxBitDepthMinus8 ||
        chroma > kMaxBitDepthMinus8 || log2_poc > kMaxLog2PocMinus4) {
        return false;
    }
    sps.bit_depth_luma = 8 + luma;
    sps.bit_depth_chroma = 8 + chroma;
    fields.poc_lsb_bits = 4 + log2_poc;
    return true;
}

// H.265 §7.3.4.
void skip_scaling_lists(BitReader& reader) {
    for (unsigned size = 0; size < 4; size++) {
        const unsigned coefficients = std::min(64U, 1U << (4 + 2 * size));
        for (unsigned matrix = 0; matrix < 6 && reader.ok(); matrix += size == 3 ? 3 : 1) {
            if (!reader.flag()) {
                reader.ue();  // scaling_list_pred_matrix_id_delta
                continue;
            }
            for (unsigned i = size > 1 ? 0 : 1; i <= coefficients && reader.ok(); i++) {
                reader.se();  // from 16x16 on scaling_list_dc_coef_minus8 is first
            }
        }
    }
}

// H.265 §7.3.7, one set of the SPS. `pictures`: of the set before; becomes that of this one.
void skip_short_term_set(BitReader& reader, bool first, uint32_t& pictures) {
    if (!first && reader.flag()) {  // inter_ref_pic_set_prediction_flag
        reader.bit();
        reader.ue();
        uint32_t kept = 0;
        for (uint32_t i = 0; i <= pictures && reader.ok(); i++) {
            const bool used = reader.flag();
            kept += used || reader.flag() ? 1U : 0U;  // use_delta_flag
        }
        pictures = kept;
    } else {
        const uint32_t negative = reader.ue();
        const uint32_t positive = reader.ue();
        if (negative > kMaxReferences || positive > kMaxReferences) {
            reader.fail();
            return;
        }
        pictures = negative + positive;
        for (uint32_t i = 0; i < pictures && reader.ok(); i++) {
            reader.ue();
            reader.bit();
        }
    }
    if (pictures > kMaxReferences) {
        reader.fail();
    }
}

// H.265 §7.3.2.2.1, behind the fields of read_sps() up to sps_temporal_mvp_enabled_flag.
void read_slice_fields(BitReader& reader, SliceFields& fields) {
    for (int i = 0; i < 6; i++) {
        reader.ue();  // sizes of blocks, depths of trees
    }
    if (reader.flag() && reader.flag()) {
        skip_scaling_lists(reader);
    }
    reader.bit();  // amp_enabled_flag
    fields.sample_adaptive_offset = reader.flag();
    if (reader.flag()) {  // pcm_enabled_flag
        reader.skip(8);
        reader.ue();
        reader.ue();
        reader.bit();
    }
    fields.short_term_sets = reader.ue();
    if (fields.short_term_sets > kMaxShortTermSets) {
        reader.fail();
    }
    uint32_t pictures = 0;
    for (uint32_t i = 0; i < fields.short_term_sets && reader.ok(); i++) {
        skip_short_term_set(reader, i == 0, pictures);
    }
    fields.long_term = reader.flag();
    if (fields.long_term) {
        fields.long_term_pictures = reader.ue();
        if (fields.long_term_pictures > kMaxLongTermPictures) {
            reader.fail();
        }
        for (uint32_t i = 0; i < fields.long_term_pictures && reader.ok(); i++) {
            reader.skip(fields.poc_lsb_bits + 1);
        }
    }
    fields.temporal_motion = reader.flag();
}

bool is_sps(ByteSpan nal) {
    return nal.size() >= kNalHeaderSize && nal_type(nal[0]) == NalType::kSps;
}

// At its end where there is no header.
BitReader behind_nal_header(ByteSpan nal) {
    return BitReader(nal.subspan(std::min(nal.size(), kNalHeaderSize)),
                     BitReader::Escapes::kNalUnit);
}

}  // namespace

std::optional<Sps> parse_sps(ByteSpan nal) {
    BitReader reader = behind_nal_header(nal);
    Sps sps;
    SliceFields fields;
    return is_sps(nal) && read_sps(reader, sps, fields) ? std::optional(sps) : std::nullopt;
}

std::optional<SliceFields> parse_slice_fields(ByteSpan nal) {
    BitReader reader = behind_nal_header(nal);
    Sps sps;
    SliceFields fields;
    if (!is_sps(nal) || !read_sps(reader, sps, fields)) {
        return std::nullopt;
    }
    read_slice_fields(reader, fields);
    return reader.ok() ? std::optional(fields) : std::nullopt;
}

std::optional<uint32_t> parameter_set_id(ByteSpan nal) {
    if (nal.size() <= kNalHeaderSize || !is_parameter_set(nal_type(nal[0]))) {
        return std::nullopt;
    }
    const NalType type = nal_type(nal[0]);
    if (type == NalType::kSps) {
        const std::optional<Sps> sps = parse_sps(nal);
        return sps ? std::optional(sps->id) : std::nullopt;
    }
    BitReader reader(nal.subspan(kNalHeaderSize), BitReader::Escapes::kNalUnit);
    const uint32_t id = type == NalType::kVps ? reader.bits(4) : reader.ue();
    return reader.ok() ? std::optional(id) : std::nullopt;
}

FrameInfo inspect_frame(ByteSpan frame, size_t length_size) {
    FrameInfo info;
    bool slice_seen = false;
    unsigned sets = 0;
    NalReader nals(frame, length_size);
    for (ByteSpan nal; nals.next(nal);) {
        const NalType type = nal_type(nal[0]);
        if (is_parameter_set(type)) {
            sets |= 1U << (static_cast<unsigned>(type) - static_cast<unsigned>(NalType::kVps));
        }
        if (!is_slice(type) || nal.size() < kNalHeaderSize) {
            continue;
        }
        info.key = info.key || is_irap(type);
        info.referenced = info.referenced || is_referenced(type);
        if (!slice_seen) {
            info.temporal_id = temporal_id(nal[1]);
        }
        slice_seen = true;
    }
    info.parameter_sets = sets == 7;
    info.whole = nals.ok();
    return info;
}

std::optional<ConfigView> ConfigView::parse(ByteSpan record) {
    ByteReader reader(record);
    ConfigView config;
    const uint8_t version = reader.u8();
    reader.skip(kConfigFixedSize - 2);
    config.length_size_ = size_t{1} + (reader.u8() & 3);
    const size_t arrays = reader.u8();
    const size_t start = reader.position();
    for (size_t i = 0; i < arrays && reader.ok(); i++) {
        reader.u8();
        for (size_t count = reader.u16(); count > 0 && reader.ok(); count--) {
            reader.skip(reader.u16());
        }
    }
    // Deviation: version 0 was written by encoders while the format was a draft.
    if (!reader.ok() || version > 1 || config.length_size_ == 3) {
        return std::nullopt;
    }
    config.arrays_ = record.subspan(start, reader.position() - start);
    return config;
}

ByteSpan ConfigView::sps() const {
    ByteSpan first;
    for_each_parameter_set([&](ByteSpan nal) {
        if (first.empty() && nal_type(nal[0]) == NalType::kSps) {
            first = nal;
        }
    });
    return first;
}

Bytes build_config(std::span<const ByteSpan> vps,
                   std::span<const ByteSpan> sps,
                   std::span<const ByteSpan> pps) {
    Bytes record;
    const std::optional<Sps> first = sps.empty() ? std::nullopt : parse_sps(sps[0]);
    if (!first || vps.empty() || pps.empty()) {
        return record;
    }
    ByteWriter writer(record);
    writer.u8(1)
        .bytes(first->profile_tier_level)
        .u16(0xF000)  // min_spatial_segmentation_idc: not said
        .u8(0xFC)     // parallelismType: not said
        .u8(static_cast<uint8_t>(0xFC | first->chroma_format_idc))
        .u8(static_cast<uint8_t>(0xF8 | (first->bit_depth_luma - 8)))
        .u8(static_cast<uint8_t>(0xF8 | (first->bit_depth_chroma - 8)))
        .u16(0)  // avgFrameRate: not said
        .u8(static_cast<uint8_t>(first->temporal_layers << 3 |
                                 (first->temporal_id_nesting ? 1 << 2 : 0) | 3))
        .u8(3);
    NalType type = NalType::kVps;
    for (std::span<const ByteSpan> sets : {vps, sps, pps}) {
        // array_completeness 1: none of them is in the frames.
        writer.u8(static_cast<uint8_t>(0x80 | static_cast<unsigned>(type)));
        writer.u16(static_cast<uint16_t>(sets.size()));
        for (ByteSpan nal : sets) {
            if (nal.size() > UINT16_MAX) {
                return {};
            }
            writer.u16(static_cast<uint16_t>(nal.size())).bytes(nal);
        }
        type = static_cast<NalType>(static_cast<unsigned>(type) + 1);
    }
    return record;
}

}  // namespace weir::media::hevc
