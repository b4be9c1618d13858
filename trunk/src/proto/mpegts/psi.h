// Programme specific information (ISO/IEC 13818-1 §2.4.4): which programmes there are (PAT), and
// which streams one has (PMT), with the descriptors that name a codec. Pure.
//
// Codecs that have no stream_type of their own are told by descriptors: registration (§2.6.8;
// 'HEVC', 'AC-3', 'EAC3', 'Opus'), those of DVB (EN 300 468 annex D: AC-3 0x6A, enhanced AC-3 0x7A,
// teletext 0x56, subtitling 0x59), and the extension descriptor of Opus ("Encapsulation of Opus in
// MPEG-2 Transport Streams", ETSI TS 101 154 annex).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "media/codec.h"

namespace weir::mpegts {

inline constexpr size_t kMaxStreams = 32;   // of a programme; more are not read
inline constexpr uint8_t kMaxVersion = 31;  // 5 bits

// What an elementary stream carries.
enum class Content : uint8_t {
    kUnknown,  // private data, carousels, what has no name here
    // video
    kH264,
    kHevc,
    kMpegVideo,   // MPEG-1 and MPEG-2
    kOtherVideo,  // MPEG-4 part 2, VVC, AVS ...
    // audio
    kAac,        // ADTS
    kAacLatm,    // LOAS and LATM
    kMpegAudio,  // layers I to III: its frames say which
    kAc3,
    kEac3,
    kOpus,
    kOtherAudio,  // DTS, TrueHD ...
    // data
    kSubtitles,
    kTeletext,
};

// "H264", "MPEG video", "AAC LATM" ...: for log lines.
std::string_view to_string(Content content);

bool is_video(Content content);
bool is_audio(Content content);

// One elementary stream of a programme.
struct StreamInfo {
    uint16_t pid = 0;
    uint8_t stream_type = 0;
    Content content = Content::kUnknown;
    uint8_t channels = 0;            // of Opus; 0: not said
    std::array<char, 3> language{};  // ISO 639-2; zeros: not said

    bool operator==(const StreamInfo&) const = default;
};

struct Pat {
    struct Entry {
        uint16_t program = 0;
        uint16_t pid = 0;  // of its PMT

        bool operator==(const Entry&) const = default;
    };

    uint16_t transport_stream = 0;
    uint8_t version = 0;
    uint8_t section = 0;
    uint8_t last_section = 0;
    std::vector<Entry> programs;  // without the network information (program 0)

    bool operator==(const Pat&) const = default;

    // `section`: whole, with a right CRC. Nothing for other tables, for one that is not in force
    // yet, and for what contradicts itself.
    static std::optional<Pat> parse(ByteSpan section);

    // Appends the section. At most 253 programmes, so that it is no longer than it may be.
    void write(Bytes& out) const;
};

struct Pmt {
    uint16_t program = 0;
    uint8_t version = 0;
    uint16_t pcr_pid = 0;
    std::vector<StreamInfo> streams;

    bool operator==(const Pmt&) const = default;

    // As of Pat.
    static std::optional<Pmt> parse(ByteSpan section);

    // Appends the section, with the descriptors that the content of each stream needs. stream_type
    // follows from the content (MPEG audio: as given).
    void write(Bytes& out) const;
};

}  // namespace weir::mpegts
