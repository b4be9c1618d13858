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

void read_size(BitReader& reader, Sps& sps) {
    sps.chroma_format_idc = reader.ue();
    if (sps.chroma_format_idc > 3) {
        reader.fail();
    }
    const bool separate_planes = sps.chroma_format_idc == 3 && reader.flag();
    const uint32_t width = reader.ue();
    const uint32_t height = reader.ue();
    // H.265 §7.4.3.2.1: in units of a chroma sample.
    const bool whole = sps.chroma_format_idc == 0 || separate_planes;
    const uint64_t unit_x = !whole && sps.chroma_format_idc <= 2 ? 2 : 1;
    const uint64_t unit_y = !whole && sps.chroma_format_idc == 1 ? 2 : 1;
    read_cropped_size(reader, width, height, unit_x, unit_y, sps.width, sps.height);
}

}  // namespace

std::optional<Sps> parse_sps(ByteSpan nal) {
    if (nal.size() < kNalHeaderSize || nal_type(nal[0]) != NalType::kSps) {
        return std::nullopt;
    }
    BitReader reader(nal.subspan(kNalHeaderSize), BitReader::Escapes::kNalUnit);
    Sps sps;
    reader.skip(4);  // sps_video_parameter_set_id
    const auto sub_layers = static_cast<uint8_t>(reader.bits(3));
    if (sub_layers > kMaxSubLayersMinus1) {
        return std::nullopt;
    }
    sps.temporal_layers = static_cast<uint8_t>(sub_layers + 1);
    sps.temporal_id_nesting = reader.flag();
    for (uint8_t& byte : sps.profile_tier_level) {
        byte = static_cast<uint8_t>(reader.bits(8));
    }
    skip_sub_layers(reader, sub_layers);
    sps.id = reader.ue();
    read_size(reader, sps);
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
        return std::nullopt;
    }
    sps.bit_depth_luma = 8 + luma;
    sps.bit_depth_chroma = 8 + chroma;
    return sps;
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
