#include "proto/mpegts/psi.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "proto/mpegts/section.h"

namespace weir::mpegts {
namespace {

constexpr uint8_t kPatTable = 0x00;
constexpr uint8_t kPmtTable = 0x02;
constexpr uint8_t kSyntaxBits = 0xB0;      // section_syntax_indicator, reserved
constexpr uint16_t kReservedPid = 0xE000;  // before 13 bits
constexpr uint16_t kReservedLength = 0xF000;

// stream_type, table 2-34, and those in use in its user private range.
constexpr uint8_t kTypeMpeg1Video = 0x01;
constexpr uint8_t kTypeMpeg2Video = 0x02;
constexpr uint8_t kTypeMpeg1Audio = 0x03;
constexpr uint8_t kTypeMpeg2Audio = 0x04;
constexpr uint8_t kTypePrivatePes = 0x06;
constexpr uint8_t kTypeAdts = 0x0F;
constexpr uint8_t kTypeLatm = 0x11;
constexpr uint8_t kTypeH264 = 0x1B;
constexpr uint8_t kTypeHevc = 0x24;
constexpr uint8_t kTypeAc3 = 0x81;   // ATSC A/53
constexpr uint8_t kTypeEac3 = 0x87;  // ATSC A/53

constexpr uint8_t kRegistration = 0x05;
constexpr uint8_t kLanguage = 0x0A;
constexpr uint8_t kDvbTeletext = 0x56;
constexpr uint8_t kDvbSubtitles = 0x59;
constexpr uint8_t kDvbAc3 = 0x6A;
constexpr uint8_t kDvbEac3 = 0x7A;
constexpr uint8_t kDvbAac = 0x7C;
constexpr uint8_t kDvbDts = 0x7B;
constexpr uint8_t kExtension = 0x7F;
constexpr uint8_t kOpusExtension = 0x80;  // descriptor_tag_extension, user defined

struct Name {
    std::string_view four_cc;
    Content content;
};

constexpr Name kRegistrations[] = {
    {"HEVC", Content::kHevc},       {"AC-3", Content::kAc3},        {"EAC3", Content::kEac3},
    {"Opus", Content::kOpus},       {"BSSD", Content::kOtherAudio}, {"DTS1", Content::kOtherAudio},
    {"DTS2", Content::kOtherAudio}, {"DTS3", Content::kOtherAudio}, {"VC-1", Content::kOtherVideo},
    {"drac", Content::kOtherVideo},
};

Content content_of(uint8_t stream_type) {
    switch (stream_type) {
        case kTypeMpeg1Video:
        case kTypeMpeg2Video: return Content::kMpegVideo;
        case kTypeMpeg1Audio:
        case kTypeMpeg2Audio: return Content::kMpegAudio;
        case kTypeAdts: return Content::kAac;
        case kTypeLatm: return Content::kAacLatm;
        case kTypeH264: return Content::kH264;
        case kTypeHevc: return Content::kHevc;
        case kTypeAc3: return Content::kAc3;
        case kTypeEac3: return Content::kEac3;
        case 0x10:  // MPEG-4 part 2
        case 0x21:  // JPEG 2000
        case 0x32:  // JPEG XS
        case 0x33:  // VVC
        case 0x42:  // AVS
        case 0xD2:  // AVS2
        case 0xD4:  // AVS3
        case 0xEA:  // VC-1
            return Content::kOtherVideo;
        case 0x80:  // LPCM of Blu-ray
        case 0x82:  // DTS
        case 0x83:  // TrueHD
        case 0x85:
        case 0x86:  // DTS-HD
        case 0x8A:  // DTS
            return Content::kOtherAudio;
        default: return Content::kUnknown;
    }
}

// What a descriptor says of the content; kUnknown: nothing.
Content content_of_descriptor(uint8_t tag, ByteSpan body) {
    switch (tag) {
        case kDvbAc3: return Content::kAc3;
        case kDvbEac3: return Content::kEac3;
        case kDvbAac: return Content::kAacLatm;
        case kDvbDts: return Content::kOtherAudio;
        case kDvbTeletext: return Content::kTeletext;
        case kDvbSubtitles: return Content::kSubtitles;
        case kRegistration: break;
        default: return Content::kUnknown;
    }
    const std::string_view four_cc = as_text(body.first(std::min<size_t>(body.size(), 4)));
    const auto* const found = std::ranges::find(kRegistrations, four_cc, &Name::four_cc);
    return found == std::end(kRegistrations) ? Content::kUnknown : found->content;
}

void read_descriptors(ByteSpan bytes, StreamInfo& out) {
    ByteReader reader(bytes);
    while (reader.remaining() >= 2) {
        const uint8_t tag = reader.u8();
        const ByteSpan body = reader.take(reader.u8());
        if (!reader.ok()) {
            return;
        }
        // The type says what it is, where it does.
        if (const Content said = content_of_descriptor(tag, body);
            said != Content::kUnknown && out.content == Content::kUnknown) {
            out.content = said;
        }
        if (tag == kLanguage && body.size() >= out.language.size()) {
            std::copy_n(body.begin(), out.language.size(), out.language.begin());
        }
        // channel_config_code: 1 to 8 are channels as in Vorbis; others (dual mono, more streams)
        // say nothing here.
        if (tag == kExtension && body.size() >= 2 && body[0] == kOpusExtension && body[1] <= 8) {
            out.channels = body[1];
        }
    }
}

// Table, length and the fields that all have (§2.4.4.3). Nothing for another table, or one that is
// not in force yet.
std::optional<ByteSpan> body_of(ByteSpan section, uint8_t table) {
    if (section.size() < kSectionHeaderSize + kCrcSize || section[0] != table ||
        (section[5] & 1) == 0) {
        return std::nullopt;
    }
    return section.subspan(kSectionHeaderSize, section.size() - kSectionHeaderSize - kCrcSize);
}

uint8_t version_of(ByteSpan section) {
    return section[5] >> 1 & kMaxVersion;
}

uint16_t extension_of(ByteSpan section) {
    return static_cast<uint16_t>(section[3] << 8 | section[4]);
}

// Begins a section in `out`; end_section() fills in its length and CRC.
size_t begin_section(uint8_t table, uint16_t extension, uint8_t version, Bytes& out) {
    const size_t start = out.size();
    ByteWriter(out)
        .u8(table)
        .u16(uint16_t{kSyntaxBits} << 8)
        .u16(extension)
        .u8(static_cast<uint8_t>(0xC0 | version << 1 | 1));
    return start;
}

void end_section(size_t start, Bytes& out) {
    const size_t length = out.size() + kCrcSize - start - 3;
    WEIR_CHECK(3 + length <= kMaxSectionBytes);
    store_u16(out.data() + start + 1, static_cast<uint16_t>(uint16_t{kSyntaxBits} << 8 | length));
    const uint32_t crc = crc32(ByteSpan(out).subspan(start));
    ByteWriter(out).u32(crc);
}

void add_registration(std::string_view four_cc, ByteWriter& out) {
    out.u8(kRegistration).u8(4).text(four_cc);
}

uint8_t type_of(const StreamInfo& stream) {
    switch (stream.content) {
        case Content::kH264: return kTypeH264;
        case Content::kHevc: return kTypeHevc;
        case Content::kMpegVideo: return kTypeMpeg2Video;
        case Content::kAac: return kTypeAdts;
        case Content::kAacLatm: return kTypeLatm;
        case Content::kAc3: return kTypeAc3;
        case Content::kEac3: return kTypeEac3;
        case Content::kMpegAudio: return stream.stream_type;
        default: return kTypePrivatePes;
    }
}

void write_descriptors(const StreamInfo& stream, ByteWriter& out) {
    switch (stream.content) {
        case Content::kHevc: add_registration("HEVC", out); break;
        case Content::kAc3: add_registration("AC-3", out); break;
        case Content::kEac3: add_registration("EAC3", out); break;
        case Content::kOpus:
            add_registration("Opus", out);
            out.u8(kExtension).u8(2).u8(kOpusExtension).u8(stream.channels);
            break;
        default: break;
    }
    if (stream.language[0] != 0) {
        out.u8(kLanguage).u8(4).text({stream.language.data(), stream.language.size()}).u8(0);
    }
}

}  // namespace

std::string_view to_string(Content content) {
    switch (content) {
        case Content::kUnknown: return "data";
        case Content::kH264: return "H264";
        case Content::kHevc: return "HEVC";
        case Content::kMpegVideo: return "MPEG video";
        case Content::kOtherVideo: return "other video";
        case Content::kAac: return "AAC";
        case Content::kAacLatm: return "AAC LATM";
        case Content::kMpegAudio: return "MPEG audio";
        case Content::kAc3: return "AC-3";
        case Content::kEac3: return "E-AC-3";
        case Content::kOpus: return "Opus";
        case Content::kOtherAudio: return "other audio";
        case Content::kSubtitles: return "subtitles";
        case Content::kTeletext: return "teletext";
    }
    return "data";
}

bool is_video(Content content) {
    return content >= Content::kH264 && content <= Content::kOtherVideo;
}

bool is_audio(Content content) {
    return content >= Content::kAac && content <= Content::kOtherAudio;
}

std::optional<Pat> Pat::parse(ByteSpan section) {
    const std::optional<ByteSpan> body = body_of(section, kPatTable);
    if (!body || body->size() % 4 != 0 || section[6] > section[7]) {
        return std::nullopt;
    }
    Pat out;
    out.transport_stream = extension_of(section);
    out.version = version_of(section);
    out.section = section[6];
    out.last_section = section[7];
    ByteReader reader(*body);
    while (!reader.empty()) {
        const uint16_t program = reader.u16();
        const auto pid = static_cast<uint16_t>(reader.u16() & 0x1FFF);
        if (program != 0) {
            out.programs.push_back({program, pid});
        }
    }
    return out;
}

void Pat::write(Bytes& out) const {
    const size_t start = begin_section(kPatTable, transport_stream, version, out);
    ByteWriter writer(out);
    writer.u8(section).u8(last_section);
    for (const Entry& entry : programs) {
        writer.u16(entry.program).u16(static_cast<uint16_t>(kReservedPid | entry.pid));
    }
    end_section(start, out);
}

std::optional<Pmt> Pmt::parse(ByteSpan section) {
    const std::optional<ByteSpan> body = body_of(section, kPmtTable);
    // §2.4.4.9: a PMT is one section.
    if (!body || section[6] != 0 || section[7] != 0) {
        return std::nullopt;
    }
    Pmt out;
    out.program = extension_of(section);
    out.version = version_of(section);
    ByteReader reader(*body);
    out.pcr_pid = reader.u16() & 0x1FFF;
    // Of the programme, descriptors say nothing that is needed here.
    reader.skip(reader.u16() & 0x0FFF);
    while (!reader.empty() && out.streams.size() < kMaxStreams) {
        StreamInfo stream;
        stream.stream_type = reader.u8();
        stream.pid = reader.u16() & 0x1FFF;
        stream.content = content_of(stream.stream_type);
        read_descriptors(reader.take(reader.u16() & 0x0FFF), stream);
        if (reader.ok()) {
            out.streams.push_back(stream);
        }
    }
    return reader.ok() ? std::optional(std::move(out)) : std::nullopt;
}

void Pmt::write(Bytes& out) const {
    const size_t start = begin_section(kPmtTable, program, version, out);
    ByteWriter writer(out);
    writer.u16(0).u16(static_cast<uint16_t>(kReservedPid | pcr_pid)).u16(kReservedLength);
    for (const StreamInfo& stream : streams) {
        Bytes descriptors;
        ByteWriter descriptor_writer(descriptors);
        write_descriptors(stream, descriptor_writer);
        writer.u8(type_of(stream))
            .u16(static_cast<uint16_t>(kReservedPid | stream.pid))
            .u16(static_cast<uint16_t>(kReservedLength | descriptors.size()))
            .bytes(descriptors);
    }
    end_section(start, out);
}

}  // namespace weir::mpegts
