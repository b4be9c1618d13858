// Packetized elementary streams (ISO/IEC 13818-1 §2.4.3.6): the header of a PES packet.
//
//     00 00 01 | stream_id | length 16 | 10.. flags | flags | size of the rest 8 | PTS 40 | DTS 40
//     ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weir::mpegts {

inline constexpr uint8_t kVideoStreamId = 0xE0;
inline constexpr uint8_t kAudioStreamId = 0xC0;
inline constexpr uint8_t kPrivateStreamId = 0xBD;  // private_stream_1: AC-3, Opus

inline constexpr size_t kMaxPesHeader = 9 + 255;
inline constexpr size_t kMaxWrittenPesHeader = 19;  // with both times

struct PesHeader {
    uint8_t stream_id = 0;
    bool scrambled = false;
    bool aligned = false;         // data_alignment_indicator
    std::optional<uint64_t> pts;  // 33 bits, 90 kHz
    std::optional<uint64_t> dts;
    std::optional<size_t> payload_size;  // nothing: up to the next packet (video only)
    size_t size = 0;                     // of the header

    enum class Status : uint8_t { kDone, kNeedMore, kMalformed };

    // `bytes`: from the start of the packet on. kNeedMore: the header is longer than that.
    static Status parse(ByteSpan bytes, PesHeader& out);

    // Writes the header to `out`, which has room for kMaxWrittenPesHeader, and gives its size. The
    // DTS only where it is there; a payload too large for the length field is written as of unknown
    // size, which only video may have.
    size_t write(uint8_t* out) const;
};

}  // namespace weir::mpegts
