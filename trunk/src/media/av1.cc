#include "media/av1.h"

#include "media/bit_reader.h"

namespace weir::media::av1 {
namespace {

constexpr uint8_t kForbiddenBit = 0x80;
constexpr uint8_t kFirstLevelWithTier = 8;  // seq_level_idx above 7 has a tier, §5.5.1
constexpr uint32_t kSelectFromFrames = 2;   // SELECT_SCREEN_CONTENT_TOOLS, SELECT_INTEGER_MV
constexpr uint32_t kKeyFrame = 0;
constexpr uint32_t kBt709 = 1;
constexpr uint32_t kUnspecified = 2;
constexpr uint32_t kSrgbTransfer = 13;
constexpr uint32_t kIdentityMatrix = 0;
constexpr uint32_t kProfessionalProfile = 2;

// uvlc(), §4.10.3.
uint32_t read_uvlc(BitReader& reader) {
    unsigned zeros = 0;
    while (reader.ok() && !reader.flag()) {
        zeros++;
    }
    return zeros >= 32 ? UINT32_MAX : (1U << zeros) - 1 + reader.bits(zeros);
}

struct DecoderModel {
    bool present = false;
    unsigned delay_bits = 0;
};

// timing_info() and decoder_model_info(), §5.5.3 and §5.5.4.
DecoderModel read_timing(BitReader& reader) {
    DecoderModel model;
    if (!reader.flag()) {
        return model;
    }
    reader.skip(64);
    if (reader.flag()) {  // equal_picture_interval
        read_uvlc(reader);
    }
    model.present = reader.flag();
    if (model.present) {
        model.delay_bits = reader.bits(5) + 1;
        reader.skip(32 + 5 + 5);
    }
    return model;
}

void read_operating_points(BitReader& reader, SequenceHeader& header) {
    const DecoderModel model = read_timing(reader);
    const bool initial_delay = reader.flag();
    const unsigned count = reader.bits(5) + 1;
    for (unsigned i = 0; i < count && reader.ok(); i++) {
        reader.skip(12);
        const auto level = static_cast<uint8_t>(reader.bits(5));
        const bool tier = level >= kFirstLevelWithTier && reader.flag();
        if (i == 0) {
            header.level_idx = level;
            header.high_tier = tier;
        }
        if (model.present && reader.flag()) {
            reader.skip(2 * size_t{model.delay_bits} + 1);
        }
        if (initial_delay && reader.flag()) {
            reader.skip(4);
        }
    }
}

// The tools between size and colour, §5.5.1.
void skip_tools(BitReader& reader, bool reduced) {
    if (!reduced && reader.flag()) {  // frame_id_numbers_present_flag
        reader.skip(4 + 3);
    }
    reader.skip(3);  // use_128x128_superblock, enable_filter_intra, enable_intra_edge_filter
    if (!reduced) {
        reader.skip(4);  // interintra, masked compound, warped motion, dual filter
        const bool order_hint = reader.flag();
        if (order_hint) {
            reader.skip(2);
        }
        const uint32_t screen_content = reader.flag() ? kSelectFromFrames : reader.bit();
        if (screen_content > 0 && !reader.flag()) {
            reader.bit();  // seq_force_integer_mv
        }
        if (order_hint) {
            reader.skip(3);
        }
    }
    reader.skip(3);  // enable_superres, enable_cdef, enable_restoration
}

// color_config(), §5.5.2.
void read_color(BitReader& reader, SequenceHeader& header) {
    header.high_bitdepth = reader.flag();
    header.twelve_bit =
        header.profile == kProfessionalProfile && header.high_bitdepth && reader.flag();
    header.monochrome = header.profile != 1 && reader.flag();
    uint32_t primaries = kUnspecified;
    uint32_t transfer = kUnspecified;
    uint32_t matrix = kUnspecified;
    if (reader.flag()) {
        primaries = reader.bits(8);
        transfer = reader.bits(8);
        matrix = reader.bits(8);
    }
    if (header.monochrome) {
        reader.bit();  // color_range
        return;
    }
    if (primaries == kBt709 && transfer == kSrgbTransfer && matrix == kIdentityMatrix) {
        header.subsampling_x = false;
        header.subsampling_y = false;
        return;
    }
    reader.bit();  // color_range
    if (header.profile == 1) {
        header.subsampling_x = false;
        header.subsampling_y = false;
    } else if (header.profile == kProfessionalProfile) {
        header.subsampling_x = !header.twelve_bit || reader.flag();
        header.subsampling_y = header.twelve_bit && header.subsampling_x && reader.flag();
    }
    if (header.subsampling_x && header.subsampling_y) {
        header.chroma_sample_position = static_cast<uint8_t>(reader.bits(2));
    }
}

// uncompressed_header() up to the type, §5.9.2. True for a key frame that is shown.
bool is_shown_key_frame(ByteSpan frame_header, bool reduced_still_picture) {
    BitReader reader(frame_header);
    if (reduced_still_picture) {
        return true;
    }
    const bool show_existing = reader.flag();
    const uint32_t type = reader.bits(2);
    const bool shown = reader.flag();
    return reader.ok() && !show_existing && type == kKeyFrame && shown;
}

bool is_frame(ObuType type) {
    return type == ObuType::kFrame || type == ObuType::kFrameHeader;
}

}  // namespace

uint64_t read_leb128(ByteReader& reader) {
    uint64_t value = 0;
    for (unsigned i = 0; i < kMaxLeb128Size; i++) {
        const uint8_t byte = reader.u8();
        value |= uint64_t{byte & 0x7FU} << (7 * i);
        if ((byte & 0x80) == 0) {
            if (value > UINT32_MAX) {
                break;
            }
            return value;
        }
    }
    reader.fail();
    return 0;
}

size_t write_leb128(uint64_t value, uint8_t* out) {
    size_t size = 0;
    for (; value >= 0x80; value >>= 7U) {
        out[size++] = static_cast<uint8_t>(value | 0x80);
    }
    out[size++] = static_cast<uint8_t>(value);
    return size;
}

bool ObuReader::next(ObuView& out) {
    if (reader_.empty()) {
        return false;
    }
    const size_t start = reader_.position();
    out.header = reader_.u8();
    out.type = obu_type(out.header);
    out.extension = av1::has_extension(out.header) ? reader_.u8() : uint8_t{0};
    const uint64_t size =
        (out.header & kObuHasSize) != 0 ? read_leb128(reader_) : uint64_t{reader_.remaining()};
    out.payload = reader_.take(static_cast<size_t>(size));
    if ((out.header & kForbiddenBit) != 0) {
        reader_.fail();
    }
    if (!reader_.ok()) {
        return false;
    }
    out.whole = unit_.subspan(start, reader_.position() - start);
    return true;
}

std::optional<SequenceHeader> parse_sequence_header(ByteSpan payload) {
    BitReader reader(payload);
    SequenceHeader header;
    header.profile = static_cast<uint8_t>(reader.bits(3));
    reader.bit();  // still_picture
    header.reduced_still_picture = reader.flag();
    if (header.reduced_still_picture) {
        header.level_idx = static_cast<uint8_t>(reader.bits(5));
    } else {
        read_operating_points(reader, header);
    }
    const unsigned width_bits = reader.bits(4) + 1;
    const unsigned height_bits = reader.bits(4) + 1;
    header.width = reader.bits(width_bits) + 1;
    header.height = reader.bits(height_bits) + 1;
    skip_tools(reader, header.reduced_still_picture);
    read_color(reader, header);
    if (!reader.ok() || header.profile > kProfessionalProfile) {
        return std::nullopt;
    }
    return header;
}

FrameInfo inspect_frame(ByteSpan unit) {
    FrameInfo info;
    bool reduced = false;
    bool frame_seen = false;
    ObuReader obus(unit);
    for (ObuView obu; obus.next(obu);) {
        if (obu.type == ObuType::kSequenceHeader) {
            const std::optional<SequenceHeader> header = parse_sequence_header(obu.payload);
            info.sequence_header = info.sequence_header || header;
            reduced = header && header->reduced_still_picture;
        } else if (is_frame(obu.type)) {
            info.shown_key_frame = info.shown_key_frame || is_shown_key_frame(obu.payload, reduced);
            if (!frame_seen) {
                info.temporal_id = temporal_id(obu.extension);
            }
            frame_seen = true;
        }
    }
    info.key = info.sequence_header && info.shown_key_frame;
    info.whole = obus.ok();
    return info;
}

ByteSpan find_sequence_header(ByteSpan unit) {
    ObuReader obus(unit);
    for (ObuView obu; obus.next(obu);) {
        if (obu.type == ObuType::kSequenceHeader) {
            return obu.whole;
        }
    }
    return {};
}

Bytes build_config(ByteSpan sequence_header_obu) {
    Bytes record;
    ObuView obu;
    if (!ObuReader(sequence_header_obu).next(obu) || obu.type != ObuType::kSequenceHeader ||
        (obu.header & kObuHasSize) == 0) {
        return record;
    }
    const std::optional<SequenceHeader> header = parse_sequence_header(obu.payload);
    if (!header) {
        return record;
    }
    record.reserve(kConfigFixedSize + obu.whole.size());
    ByteWriter(record)
        .u8(0x81)  // marker and version 1
        .u8(static_cast<uint8_t>(header->profile << 5 | header->level_idx))
        .u8(static_cast<uint8_t>(
            (header->high_tier ? 0x80 : 0) | (header->high_bitdepth ? 0x40 : 0) |
            (header->twelve_bit ? 0x20 : 0) | (header->monochrome ? 0x10 : 0) |
            (header->subsampling_x ? 0x08 : 0) | (header->subsampling_y ? 0x04 : 0) |
            header->chroma_sample_position))
        .u8(0)  // initial_presentation_delay: not said
        .bytes(obu.whole);
    return record;
}

std::optional<ByteSpan> parse_config(ByteSpan record) {
    if (record.size() < kConfigFixedSize || record[0] != 0x81) {
        return std::nullopt;
    }
    return record.subspan(kConfigFixedSize);
}

}  // namespace weir::media::av1
