#include "proto/flv/recording.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "proto/amf/amf0.h"
#include "proto/flv/tag.h"

namespace weir::flv {
namespace {

// AMF0, as this one message needs it.
constexpr uint8_t kNumber = 0x00;
constexpr uint8_t kBoolean = 0x01;
constexpr uint8_t kString = 0x02;
constexpr uint8_t kObject = 0x03;
constexpr uint8_t kEcmaArray = 0x08;
constexpr uint8_t kObjectEnd = 0x09;
constexpr uint8_t kStrictArray = 0x0A;

constexpr size_t kNumberBytes = 9;
constexpr size_t kTagPeek = 16;  // of a body: enough for the first fields

void put_name(Bytes& out, std::string_view name) {
    ByteWriter(out).u16(static_cast<uint16_t>(name.size())).text(name);
}

void put_number(Bytes& out, std::string_view name, double value) {
    put_name(out, name);
    ByteWriter(out).u8(kNumber).f64(value);
}

void put_numbers(Bytes& out, std::string_view name, std::span<const double> values) {
    put_name(out, name);
    ByteWriter(out).u8(kStrictArray).u32(static_cast<uint32_t>(values.size()));
    for (const double value : values) {
        ByteWriter(out).u8(kNumber).f64(value);
    }
}

// What the end fills in: always the same number of bytes, as what the index does not need is a
// member without a meaning.
Bytes ending_block(double duration_s,
                   double file_bytes,
                   std::span<const double> times,
                   std::span<const double> positions) {
    Bytes out;
    put_number(out, "duration", duration_s);
    put_number(out, "filesize", file_bytes);
    put_name(out, "hasKeyframes");
    ByteWriter(out).u8(kBoolean).u8(times.empty() ? 0 : 1);
    put_name(out, "keyframes");
    ByteWriter(out).u8(kObject);
    put_numbers(out, "filepositions", positions);
    put_numbers(out, "times", times);
    ByteWriter(out).u16(0).u8(kObjectEnd);
    // Numbers, outside of the index: ffmpeg knows no long strings, and takes no index that has
    // more.
    const size_t unused = (FileScan::kMaxIndexed - times.size()) * 2;
    put_name(out, "spacer");
    ByteWriter(out).u8(kStrictArray).u32(static_cast<uint32_t>(unused));
    out.insert(out.end(), unused * kNumberBytes, uint8_t{0});  // each is the number 0
    return out;
}

// "onMetaData", and the head of its array.
Bytes message_head() {
    Bytes out;
    ByteWriter(out).u8(kString);
    put_name(out, "onMetaData");
    ByteWriter(out).u8(kEcmaArray).u32(0);
    return out;
}

constexpr size_t kBodyAt = kFileHeaderSize + kTagHeaderSize;

// What the end fills in, and what the file knows better.
bool is_of_the_file(std::string_view name, const FileFacts& facts) {
    constexpr std::array<std::string_view, 7> kNames = {
        "duration", "filesize", "hasKeyframes", "keyframes", "spacer", "hasVideo", "hasAudio"};
    return std::ranges::find(kNames, name) != kNames.end() ||
           (facts.width > 0 && (name == "width" || name == "height"));
}

// False: the publisher does not name its encoder.
bool put_members_of_publisher(const FileFacts& facts, Bytes& out) {
    ByteReader reader(facts.metadata);
    const bool named = amf::parse(reader).ok();
    const Result<amf::Value> said = named ? amf::parse(reader) : amf::Value();
    if (!said.ok() || !said->has_members()) {
        return false;
    }
    for (const amf::Member& member : said->members()) {
        if (!member.name.empty() && !is_of_the_file(member.name, facts)) {
            amf::Writer(out).key(member.name).value(member.value);
        }
    }
    return said->find("encoder") != nullptr;
}

// As far as ending_block() is the same in each file.
bool begins_as_ours(ByteSpan body) {
    Bytes head = message_head();
    put_name(head, "duration");
    return body.size() >= head.size() && std::ranges::equal(body.first(head.size()), head);
}

}  // namespace

void write_file_beginning(const FileFacts& facts, Bytes& out) {
    Bytes body = message_head();
    const Bytes ending = ending_block(0, 0, {}, {});
    ByteWriter writer(body);
    writer.bytes(ending);
    put_name(body, "hasVideo");
    writer.u8(kBoolean).u8(facts.video ? 1 : 0);
    put_name(body, "hasAudio");
    writer.u8(kBoolean).u8(facts.audio ? 1 : 0);
    if (facts.width > 0) {
        put_number(body, "width", facts.width);
        put_number(body, "height", facts.height);
    }
    if (!put_members_of_publisher(facts, body)) {
        put_name(body, "encoder");
        writer.u8(kString);
        put_name(body, "weir");
    }
    writer.u16(0).u8(kObjectEnd);

    std::array<uint8_t, kFileHeaderSize> file_header;
    std::array<uint8_t, kTagHeaderSize> header;
    std::array<uint8_t, kTagTrailerSize> trailer;
    const auto size = static_cast<uint32_t>(body.size());
    ByteWriter(out)
        .bytes(
            {file_header.data(), write_file_header(facts.audio, facts.video, file_header.data())})
        .bytes({header.data(), write_tag_header(kScriptTag, 0, size, header.data())})
        .bytes(body)
        .bytes({trailer.data(), write_tag_trailer(size, trailer.data())});
}

FileScan::Advance FileScan::advance(ByteSpan window, uint64_t left) {
    const bool first = position_ == 0;
    const size_t head = (first ? kFileHeaderSize : 0) + kTagHeaderSize;
    if (left < head + kTagTrailerSize) {
        return {};
    }
    const auto peek = static_cast<size_t>(std::min<uint64_t>(left, head + (first ? 64 : kTagPeek)));
    if (window.size() < peek) {
        return {.need = peek};
    }
    ByteReader reader(window.first(peek));
    if (first && (as_text(reader.take(3)) != "FLV" || reader.u8() != 1)) {
        return {};
    }
    reader.skip(first ? kFileHeaderSize - 4 : 0);
    const uint8_t type = reader.u8();
    const uint32_t size = reader.u24();
    const uint32_t low = reader.u24();
    const uint32_t time_ms = low | uint32_t{reader.u8()} << 24;
    reader.skip(3);
    const uint64_t whole = head + size + kTagTrailerSize;
    if (!reader.ok() || !track_kind(type) || whole > left) {
        return {};
    }
    const ByteSpan body = reader.take(std::min<size_t>(reader.remaining(), size));
    if (first) {
        metadata_is_ours_ = type == kScriptTag && begins_as_ours(body);
    } else {
        take_tag(type, time_ms, body);
    }
    position_ += whole;
    return {.bytes = whole};
}

void FileScan::take_tag(uint8_t type, uint32_t time_ms, ByteSpan beginning) {
    const auto kind = track_kind(type);
    const auto info = kind ? parse_tag_body(*kind, beginning) : std::nullopt;
    if (!info || *kind == media::TrackKind::kData || info->config || info->metadata || info->end) {
        return;
    }
    frames_++;
    int64_t& last = *kind == media::TrackKind::kVideo ? last_video_ms_ : last_audio_ms_;
    if (time_ms >= last_ms_) {
        step_ms_ = last >= 0 ? time_ms - last : step_ms_;
        last_ms_ = time_ms;
    }
    last = time_ms;
    if (!info->key || *kind != media::TrackKind::kVideo || ++skipped_ < every_) {
        return;
    }
    skipped_ = 0;
    if (keys_.size() == kMaxIndexed) {
        for (size_t i = 0; i < kMaxIndexed / 2; i++) {
            keys_[i] = keys_[2 * i];
        }
        keys_.resize(kMaxIndexed / 2);
        every_ *= 2;
    }
    keys_.push_back({time_ms, position_});
}

std::vector<FileScan::Patch> FileScan::patches() const {
    if (!metadata_is_ours_) {
        return {};
    }
    std::vector<double> times;
    std::vector<double> positions;
    for (const Key& key : keys_) {
        times.push_back(key.time_ms / 1000.0);
        positions.push_back(static_cast<double>(key.offset));
    }
    std::vector<Patch> list;
    list.push_back({kBodyAt + message_head().size(),
                    ending_block(static_cast<double>(duration_ms()) / 1000.0,
                                 static_cast<double>(position_), times, positions)});
    return list;
}

}  // namespace weir::flv
