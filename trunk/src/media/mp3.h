// MP3 (MPEG audio layer III: ISO/IEC 11172-3 §2.4.2.3, ISO/IEC 13818-3, and the half rates of MPEG
// 2.5): what the header of a frame says. No decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weir::media::mp3 {

inline constexpr size_t kHeaderSize = 4;

struct FrameHeader {
    uint32_t sample_rate = 0;
    uint32_t bitrate_bps = 0;
    uint8_t channels = 2;
    bool mpeg1 = true;     // not MPEG 2 or 2.5, which have half the samples
    bool has_crc = false;  // two bytes of CRC follow the header
    uint8_t layer = 3;
    uint16_t samples = 1152;
    size_t size = 0;  // of the whole frame in bytes

    // Bytes of side information behind header and CRC.
    size_t side_info_size() const {
        return mpeg1 ? (channels == 1 ? 17U : 32U) : (channels == 1 ? 9U : 17U);
    }
};

// Needs the first four bytes of a frame. Nothing for other layers, for the free format (no size is
// said), and for what is no header.
std::optional<FrameHeader> parse_header(ByteSpan frame);

// The same of layers I and II too, which are MPEG audio as well (broadcasts have layer II).
std::optional<FrameHeader> parse_any_layer(ByteSpan frame);

}  // namespace weir::media::mp3
