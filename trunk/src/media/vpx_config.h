// VPCodecConfigurationRecord of VP8 and VP9 ("VP Codec ISO Media File Format Binding" §2.2), the
// sequence header of Enhanced RTMP for both.
//
//     | profile 1 | level 1 | bit depth 4 bits, chroma 3 bits, full range 1 bit |
//     | colour primaries 1 | transfer 1 | matrix 1 | size of what follows 2, 0 for VP8 and VP9 |
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "media/vp9.h"

namespace weir::media {

struct VpxConfig {
    uint8_t profile = 0;
    uint8_t level = 0;  // ten times the level; 0: not said
    uint8_t bit_depth = 8;
    uint8_t chroma_subsampling = 1;  // 0, 1: 4:2:0; 2: 4:2:2; 3: 4:4:4
    bool full_range = false;
    uint8_t color_primaries = 2;  // 2: not said (ISO/IEC 23091-2)
    uint8_t transfer = 2;
    uint8_t matrix = 2;

    bool operator==(const VpxConfig&) const = default;
};

inline constexpr size_t kVpxConfigSize = 8;

// Reads the record with or without version and flags of its MP4 box in front: encoders send both.
std::optional<VpxConfig> parse_vpx_config(ByteSpan record);

// Without them, kVpxConfigSize bytes.
Bytes build_vpx_config(const VpxConfig& config);

// The configuration of a key frame; the level is the lowest that allows the size of the picture.
VpxConfig vpx_config_of(const vp9::FrameInfo& key_frame);

}  // namespace weir::media
