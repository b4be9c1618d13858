// VP8 frames (RFC 6386 §9.1): what their first bytes say. No decoding.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weir::media::vp8 {

struct FrameInfo {
    bool key = false;
    bool shown = false;
    uint8_t version = 0;  // 0 to 3
    uint32_t width = 0;   // in pixels; of key frames only, else 0
    uint32_t height = 0;
};

// Nothing when it is too short, or a key frame without its start code.
std::optional<FrameInfo> parse_frame(ByteSpan frame);

}  // namespace weir::media::vp8
