#include "media/avc.h"

#include <algorithm>

#include "media/bit_reader.h"
#include "media/cropped_size.h"

namespace weir::media::avc {
namespace {

constexpr uint32_t kMaxSpsId = 31;
constexpr uint32_t kMaxPpsId = 255;
constexpr uint32_t kMaxBitDepthMinus8 = 6;
constexpr uint32_t kMaxPocCycle = 255;  // H.264 §7.4.2.1.1
constexpr uint32_t kMaxCpbCount = 32;   // H.264 §E.2.2
constexpr uint32_t kMacroblockPixels = 16;
constexpr uint8_t kExtendedAspectRatio = 255;

// Profiles whose SPS has chroma format and scaling lists, H.264 §7.3.2.1.1.
bool is_high_profile(uint8_t profile_idc) {
    switch (profile_idc) {
        case 44:
        case 83:
        case 86:
        case 100:
        case 110:
        case 118:
        case 122:
        case 128:
        case 134:
        case 135:
        case 138:
        case 139:
        case 244: return true;
        default: return false;
    }
}

// H.264 §7.3.2.1.1.1.
void skip_scaling_list(BitReader& reader, unsigned size) {
    int32_t last = 8;
    int32_t next = 8;
    for (unsigned i = 0; i < size && reader.ok(); i++) {
        if (next != 0) {
            next = (last + reader.se() % 256 + 256) % 256;
        }
        last = next == 0 ? last : next;
    }
}

void read_high_profile(BitReader& reader, Sps& sps) {
    sps.chroma_format_idc = reader.ue();
    if (sps.chroma_format_idc > 3) {
        reader.fail();
    }
    if (sps.chroma_format_idc == 3) {
        sps.separate_planes = reader.flag();  // sizes and lists are as without it
    }
    const uint32_t luma = reader.ue();
    const uint32_t chroma = reader.ue();
    if (luma > kMaxBitDepthMinus8 || chroma > kMaxBitDepthMinus8) {
        reader.fail();
    }
    sps.bit_depth_luma = 8 + luma;
    sps.bit_depth_chroma = 8 + chroma;
    reader.bit();  // qpprime_y_zero_transform_bypass_flag
    if (reader.flag()) {
        const unsigned lists = sps.chroma_format_idc == 3 ? 12 : 8;
        for (unsigned i = 0; i < lists; i++) {
            if (reader.flag()) {
                skip_scaling_list(reader, i < 6 ? 16 : 64);
            }
        }
    }
}

void read_picture_order(BitReader& reader, Sps& sps) {
    sps.frame_num_bits = 4 + std::min<uint32_t>(reader.ue(), 12);  // §7.4.2.1.1: not more
    sps.poc_type = reader.ue();
    if (sps.poc_type == 0) {
        sps.poc_lsb_bits = 4 + std::min<uint32_t>(reader.ue(), 12);
    } else if (sps.poc_type == 1) {
        sps.poc_deltas = !reader.flag();
        reader.se();
        reader.se();
        const uint32_t count = reader.ue();
        if (count > kMaxPocCycle) {
            reader.fail();
        }
        for (uint32_t i = 0; i < count && reader.ok(); i++) {
            reader.se();
        }
    } else if (sps.poc_type > 2) {
        reader.fail();
    }
}

void read_size(BitReader& reader, Sps& sps) {
    sps.max_ref_frames = reader.ue();
    reader.bit();  // gaps_in_frame_num_value_allowed_flag
    const uint64_t width = (uint64_t{reader.ue()} + 1) * kMacroblockPixels;
    const uint64_t map_units = uint64_t{reader.ue()} + 1;
    sps.interlaced = !reader.flag();
    const uint64_t height = map_units * kMacroblockPixels * (sps.interlaced ? 2 : 1);
    if (sps.interlaced) {
        reader.bit();  // mb_adaptive_frame_field_flag
    }
    reader.bit();  // direct_8x8_inference_flag
    // H.264 §7.4.2.1.1: the unit is a chroma sample, and a pair of lines when interlaced.
    const uint64_t unit_x = sps.chroma_format_idc == 1 || sps.chroma_format_idc == 2 ? 2 : 1;
    const uint64_t unit_y =
        (sps.chroma_format_idc == 1 ? 2 : 1) * (sps.interlaced ? uint64_t{2} : uint64_t{1});
    read_cropped_size(reader, width, height, unit_x, unit_y, sps.width, sps.height);
}

// H.264 §E.1.2.
void skip_hrd(BitReader& reader) {
    const uint32_t count = reader.ue() + 1;
    if (count > kMaxCpbCount) {
        reader.fail();
    }
    reader.skip(8);
    for (uint32_t i = 0; i < count && reader.ok(); i++) {
        reader.ue();
        reader.ue();
        reader.bit();
    }
    reader.skip(20);
}

// H.264 §E.1.1, for its last fields.
void read_vui(BitReader& reader, Sps& sps) {
    if (reader.flag() && reader.bits(8) == kExtendedAspectRatio) {
        reader.skip(32);
    }
    if (reader.flag()) {
        reader.bit();  // overscan_appropriate_flag
    }
    if (reader.flag()) {
        reader.skip(4);  // video_format, video_full_range_flag
        if (reader.flag()) {
            reader.skip(24);
        }
    }
    if (reader.flag()) {  // chroma_loc_info_present_flag
        reader.ue();
        reader.ue();
    }
    if (reader.flag()) {  // timing_info_present_flag
        reader.skip(65);
    }
    const bool nal_hrd = reader.flag();
    if (nal_hrd) {
        skip_hrd(reader);
    }
    const bool vcl_hrd = reader.flag();
    if (vcl_hrd) {
        skip_hrd(reader);
    }
    if (nal_hrd || vcl_hrd) {
        reader.bit();  // low_delay_hrd_flag
    }
    reader.bit();  // pic_struct_present_flag
    if (reader.flag()) {
        reader.bit();
        for (int i = 0; i < 4; i++) {
            reader.ue();
        }
        const uint32_t reorder = reader.ue();
        if (reader.ok()) {
            sps.max_reorder_frames = reorder;
        }
    }
}

BitReader behind_nal_header(ByteSpan nal) {
    return BitReader(nal.subspan(nal.empty() ? 0 : 1), BitReader::Escapes::kNalUnit);
}

}  // namespace

std::optional<Sps> parse_sps(ByteSpan nal) {
    if (nal.empty() || nal_type(nal[0]) != NalType::kSps) {
        return std::nullopt;
    }
    BitReader reader = behind_nal_header(nal);
    Sps sps;
    sps.profile_idc = static_cast<uint8_t>(reader.bits(8));
    sps.constraint_flags = static_cast<uint8_t>(reader.bits(8));
    sps.level_idc = static_cast<uint8_t>(reader.bits(8));
    sps.id = reader.ue();
    if (is_high_profile(sps.profile_idc)) {
        read_high_profile(reader, sps);
    }
    read_picture_order(reader, sps);
    read_size(reader, sps);
    const bool has_vui = reader.flag();
    if (!reader.ok() || sps.id > kMaxSpsId) {
        return std::nullopt;
    }
    if (has_vui) {
        read_vui(reader, sps);  // a VUI that is cut or wrong costs only what it would have said
    }
    return sps;
}

std::optional<PpsIds> parse_pps_ids(ByteSpan nal) {
    if (nal.empty() || nal_type(nal[0]) != NalType::kPps) {
        return std::nullopt;
    }
    BitReader reader = behind_nal_header(nal);
    PpsIds ids;
    ids.id = reader.ue();
    ids.sps_id = reader.ue();
    if (!reader.ok() || ids.id > kMaxPpsId || ids.sps_id > kMaxSpsId) {
        return std::nullopt;
    }
    return ids;
}

std::optional<uint32_t> parameter_set_id(ByteSpan nal) {
    if (const std::optional<Sps> sps = parse_sps(nal)) {
        return sps->id;
    }
    const std::optional<PpsIds> ids = parse_pps_ids(nal);
    return ids ? std::optional(ids->id) : std::nullopt;
}

std::optional<Slice> parse_slice(ByteSpan nal) {
    if (nal.empty()) {
        return std::nullopt;
    }
    const NalType type = nal_type(nal[0]);
    if (type != NalType::kSlice && type != NalType::kPartitionA && type != NalType::kIdr) {
        return std::nullopt;
    }
    BitReader reader = behind_nal_header(nal);
    Slice slice;
    slice.first_macroblock = reader.ue();
    const uint32_t slice_type = reader.ue();
    slice.pps_id = reader.ue();
    if (!reader.ok() || slice_type > 9 || slice.pps_id > kMaxPpsId) {
        return std::nullopt;
    }
    slice.type = static_cast<SliceType>(slice_type % 5);  // 5 to 9: all slices of the picture
    return slice;
}

std::optional<Structure> parse_structure(ByteSpan slice_header, const Sps& sps) {
    if (!sps.interlaced) {
        return Structure::kFrame;
    }
    BitReader reader(slice_header, BitReader::Escapes::kNalUnit);
    reader.ue();  // first_mb_in_slice
    reader.ue();  // slice_type
    reader.ue();  // pic_parameter_set_id
    reader.skip((sps.separate_planes ? 2U : 0U) + sps.frame_num_bits);
    const bool field = reader.flag();
    const bool bottom = field && reader.flag();
    if (!reader.ok()) {
        return std::nullopt;
    }
    return !field ? Structure::kFrame : bottom ? Structure::kBottomField : Structure::kTopField;
}

// H.264 §7.3.2.3.1: messages, each with its type and size in bytes of 255 and a last one.
bool is_recovery_point(ByteSpan nal) {
    constexpr uint32_t kRecoveryPoint = 6;
    if (nal.empty() || nal_type(nal[0]) != NalType::kSei) {
        return false;
    }
    BitReader reader = behind_nal_header(nal);
    const auto read_number = [&reader] {
        uint32_t sum = 0;
        uint32_t byte = 0xFF;
        while (byte == 0xFF && reader.ok()) {
            byte = reader.bits(8);
            sum += byte;
        }
        return sum;
    };
    while (reader.ok()) {
        const uint32_t type = read_number();
        const uint32_t size = read_number();
        if (reader.ok() && type == kRecoveryPoint) {
            return reader.ue() == 0 && reader.ok();  // recovery_frame_cnt
        }
        reader.skip(size_t{8} * size);
    }
    return false;
}

FrameInfo inspect_frame(ByteSpan frame, size_t length_size) {
    FrameInfo info;
    bool sps = false;
    bool pps = false;
    NalReader nals(frame, length_size);
    for (ByteSpan nal; nals.next(nal);) {
        const NalType type = nal_type(nal[0]);
        sps = sps || type == NalType::kSps;
        pps = pps || type == NalType::kPps;
        if (!is_slice(type)) {
            continue;
        }
        info.key = info.key || type == NalType::kIdr;
        info.referenced = info.referenced || nal_ref_idc(nal[0]) != 0;
        if (!info.bidirectional) {
            const std::optional<Slice> slice = parse_slice(nal);
            info.bidirectional = slice && slice->type == SliceType::kB;
        }
    }
    info.parameter_sets = sps && pps;
    info.whole = nals.ok();
    return info;
}

std::optional<ConfigView> ConfigView::parse(ByteSpan record) {
    ByteReader reader(record);
    ConfigView config;
    const uint8_t version = reader.u8();
    config.profile_ = reader.u8();
    config.compatibility_ = reader.u8();
    config.level_ = reader.u8();
    config.length_size_ = size_t{1} + (reader.u8() & 3);
    for (ByteSpan* part : {&config.sps_, &config.pps_}) {
        const size_t count = reader.u8() & (part == &config.sps_ ? 0x1F : 0xFF);
        const size_t start = reader.position();
        for (size_t i = 0; i < count && reader.ok(); i++) {
            reader.skip(reader.u16());
        }
        if (reader.ok()) {
            *part = record.subspan(start, reader.position() - start);
        }
    }
    if (!reader.ok() || version != 1 || config.length_size_ == 3) {
        return std::nullopt;
    }
    return config;
}

ByteSpan ConfigView::sps() const {
    ByteSpan nal;
    NalReader(sps_, 2).next(nal);
    return nal;
}

Bytes build_config(std::span<const ByteSpan> sps, std::span<const ByteSpan> pps) {
    Bytes record;
    const auto too_long = [](ByteSpan nal) { return nal.size() > UINT16_MAX; };
    if (sps.empty() || pps.empty() || sps.size() > kMaxSps || pps.size() > kMaxPps ||
        sps[0].size() < 4 || std::any_of(sps.begin(), sps.end(), too_long) ||
        std::any_of(pps.begin(), pps.end(), too_long)) {
        return record;
    }
    ByteWriter writer(record);
    writer.u8(1).bytes(sps[0].subspan(1, 3)).u8(0xFC | 3);
    writer.u8(static_cast<uint8_t>(0xE0 | sps.size()));
    for (ByteSpan nal : sps) {
        writer.u16(static_cast<uint16_t>(nal.size())).bytes(nal);
    }
    writer.u8(static_cast<uint8_t>(pps.size()));
    for (ByteSpan nal : pps) {
        writer.u16(static_cast<uint16_t>(nal.size())).bytes(nal);
    }
    const std::optional<Sps> first = parse_sps(sps[0]);
    // ISO/IEC 14496-15 §5.3.3.1.2: for the high profiles four bytes more.
    if (first && is_high_profile(first->profile_idc)) {
        writer.u8(static_cast<uint8_t>(0xFC | first->chroma_format_idc))
            .u8(static_cast<uint8_t>(0xF8 | (first->bit_depth_luma - 8)))
            .u8(static_cast<uint8_t>(0xF8 | (first->bit_depth_chroma - 8)))
            .u8(0);
    }
    return record;
}

}  // namespace weir::media::avc
