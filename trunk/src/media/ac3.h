// AC-3 and enhanced AC-3 (ETSI TS 102 366, ATSC A/52): what the header of a frame (syncframe) says.
// No decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weir::media::ac3 {

inline constexpr size_t kHeaderSize = 6;

struct FrameHeader {
    bool enhanced = false;
    // Enhanced: of a dependent substream, or of another programme than the first; it belongs to the
    // frame before it.
    bool dependent = false;
    uint32_t sample_rate = 0;
    uint16_t samples = 1536;
    size_t size = 0;  // of the whole frame in bytes
};

// Needs the first kHeaderSize bytes of a frame. Nothing for what is no header.
std::optional<FrameHeader> parse_header(ByteSpan frame);

}  // namespace weir::media::ac3
