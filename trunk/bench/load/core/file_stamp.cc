#include "bench/load/core/file_stamp.h"

#include <algorithm>
#include <array>

#include "proto/flv/tag.h"

#include "bench/load/core/frame_sum.h"
#include "bench/load/core/synthetic.h"

namespace weir::load {
namespace {

using media::Codec;
using media::TrackKind;

constexpr uint8_t kTrailingBit = 0x80;
constexpr size_t kLengthSize = 4;
constexpr size_t kSeiMessageSize = kStampMessageHead + kStampSize;
// data_stream_element, tag 0, aligned to bytes: 100 0000 1.
constexpr uint8_t kDataElement = 0x81;

// NAL units of the two codecs (ISO 14496-10 table 7-1, ISO 23008-2 table 7-1).
struct UnitSyntax {
    ByteSpan sei;  // header of an SEI unit
    uint8_t shift;
    uint8_t mask;
    uint8_t delimiter;
    std::array<uint8_t, 4> before_picture;  // parameter sets, SEI

    uint8_t type(uint8_t first) const { return static_cast<uint8_t>(first >> shift & mask); }

    bool comes_before_picture(uint8_t first) const {
        return type(first) == delimiter || std::find(before_picture.begin(), before_picture.end(),
                                                     type(first)) != before_picture.end();
    }

    size_t unit_size() const { return sei.size() + kSeiMessageSize + 1; }
};

const UnitSyntax* syntax_of(Codec codec) {
    static constexpr uint8_t kAvcSei[] = {6};
    static constexpr uint8_t kHevcSei[] = {39 << 1, 1};
    static constexpr UnitSyntax kAvc = {kAvcSei, 0, 31, 9, {6, 7, 8, 7}};
    static constexpr UnitSyntax kHevc = {kHevcSei, 1, 63, 35, {32, 33, 34, 39}};
    return codec == Codec::kH264 ? &kAvc : codec == Codec::kHevc ? &kHevc : nullptr;
}

Uuid frame_uuid() {
    static constexpr std::string_view kText = "weir-bench-frame";
    return Uuid(as_bytes(kText));
}

ByteSpan frame_mark() {
    return as_bytes("file");
}

bool starts_with(ByteSpan bytes, ByteSpan what) {
    return bytes.size() >= what.size() && std::equal(what.begin(), what.end(), bytes.begin());
}

// Of an AudioSpecificConfig (ISO 14496-3 §1.6.2.1): the kinds whose frames are raw_data_block().
bool has_data_elements(ByteSpan config) {
    uint8_t object_type = config.size() >= 2 ? config[0] >> 3 : 0;
    return (object_type >= 1 && object_type <= 5) || object_type == 29;
}

// lengthSizeMinusOne of an AVCDecoderConfigurationRecord or its HEVC sister (ISO 14496-15 §5.3.3,
// §8.3.3).
bool has_long_lengths(ByteSpan record, Codec codec) {
    size_t at = codec == Codec::kH264 ? 4 : 21;
    return record.size() > at && (record[at] & 3) == 3;
}

// Bytes of the access unit delimiter that must stay first (ISO 14496-10 §7.4.1.2.3); 0: none.
size_t delimiter_size(ByteSpan units, const UnitSyntax& syntax) {
    ByteReader reader(units);
    uint32_t size = reader.u32();
    uint8_t first = reader.peek();
    reader.skip(size);
    bool is_delimiter =
        reader.ok() && size > 0 && size <= 8 && syntax.type(first) == syntax.delimiter;
    return is_delimiter ? reader.position() : 0;
}

void append_stamp(Bytes& out, const Stamp& stamp) {
    size_t at = out.size();
    out.resize(at + kStampSize);
    write_stamp(std::span<uint8_t, kStampSize>(out.data() + at, kStampSize), stamp);
}

std::optional<FileStampPlace> stamp_at(ByteSpan head, size_t at) {
    FileStampPlace place;
    place.stamp = parse_stamp(std::span<const uint8_t, kStampSize>(head.data() + at, kStampSize));
    place.rest_at = static_cast<uint32_t>(at + kStampSize);
    return place;
}

std::optional<FileStampPlace> find_in_units(ByteSpan head, size_t at, const UnitSyntax& syntax) {
    size_t message_at = kLengthSize + syntax.sei.size();
    while (at + message_at + kSeiMessageSize <= head.size()) {
        ByteSpan unit = head.subspan(at);
        ByteSpan message = unit.subspan(message_at);
        uint32_t size = ByteReader(unit).u32();
        if (starts_with(message.subspan(2), frame_uuid())) {
            auto place = stamp_at(head, at + message_at + kStampMessageHead);
            place->as_sent = size == syntax.unit_size() && message[0] == 5 &&
                             message[1] == kUuidSize + kStampSize &&
                             starts_with(unit.subspan(kLengthSize), syntax.sei);
            return place;
        }
        if (!syntax.comes_before_picture(unit[kLengthSize]) || size > head.size()) {
            return std::nullopt;
        }
        at += kLengthSize + size;
    }
    return std::nullopt;
}

std::optional<FileStampPlace> find_in_audio(ByteSpan head, size_t at) {
    size_t stamp_begin = at + 2 + frame_mark().size();
    if (stamp_begin + kStampSize > head.size() ||
        !starts_with(head.subspan(at + 2), frame_mark())) {
        return std::nullopt;
    }
    auto place = stamp_at(head, stamp_begin);
    place->as_sent = head[at] == kDataElement && head[at + 1] == frame_mark().size() + kStampSize;
    return place;
}

}  // namespace

bool can_stamp(const FileTrack& track, TrackKind kind) {
    std::optional<media::PacketInfo> info = flv::parse_tag_body(kind, track.config);
    if (!track.present || !info || !info->config) {
        return false;
    }
    ByteSpan record = ByteSpan(track.config).subspan(info->payload_offset);
    switch (info->codec) {
        case Codec::kH264:
        case Codec::kHevc: return has_long_lengths(record, info->codec);
        case Codec::kAac: return has_data_elements(record);
        default: return false;
    }
}

bool add_file_stamp(ByteSpan body, TrackKind kind, Stamp& stamp, Bytes& out) {
    std::optional<media::PacketInfo> info = flv::parse_tag_body(kind, body);
    const UnitSyntax* syntax = info ? syntax_of(info->codec) : nullptr;
    if (!info || (kind == TrackKind::kVideo && syntax == nullptr)) {
        out.assign(body.begin(), body.end());
        return false;
    }
    ByteSpan header = body.first(info->payload_offset);
    ByteSpan rest = body.subspan(info->payload_offset);
    FrameSum sum;
    sum.add(header);
    out.clear();
    out.reserve(body.size() + kMaxFileStampSize);
    ByteWriter writer(out);
    writer.bytes(header);
    if (syntax == nullptr) {
        sum.add(rest);
        stamp.filler = sum.value();
        writer.u8(kDataElement)
            .u8(static_cast<uint8_t>(frame_mark().size() + kStampSize))
            .bytes(frame_mark());
        append_stamp(out, stamp);
        writer.bytes(rest);
        return true;
    }
    ByteSpan delimiter = rest.first(delimiter_size(rest, *syntax));
    rest = rest.subspan(delimiter.size());
    static constexpr uint8_t kEnd[] = {kTrailingBit};
    sum.add(kEnd);
    sum.add(rest);
    stamp.filler = sum.value();
    writer.bytes(delimiter).u32(static_cast<uint32_t>(syntax->unit_size())).bytes(syntax->sei);
    writer.u8(5).u8(static_cast<uint8_t>(kUuidSize + kStampSize)).bytes(frame_uuid());
    append_stamp(out, stamp);
    writer.u8(kTrailingBit).bytes(rest);
    return true;
}

std::optional<FileStampPlace> find_file_stamp(ByteSpan head, const media::PacketInfo& info) {
    const UnitSyntax* syntax = syntax_of(info.codec);
    std::optional<FileStampPlace> place;
    if (syntax != nullptr) {
        place = find_in_units(head, info.payload_offset, *syntax);
    } else if (info.codec == Codec::kAac) {
        place = find_in_audio(head, info.payload_offset);
    }
    if (place) {
        place->header_size = info.payload_offset;
    }
    return place;
}

}  // namespace weir::load
