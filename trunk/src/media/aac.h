// AAC (ISO/IEC 14496-3): what an AudioSpecificConfig, the sequence header of FLV and MP4, says of
// the sound. No decoding.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weir::media::aac {

struct Config {
    uint8_t object_type = 0;   // of what is played: 2 LC, 5 HE (SBR), 29 HE v2 (SBR and PS)
    uint32_t sample_rate = 0;  // of what is played: with SBR twice that of the core
    uint8_t channels = 0;      // 0: said elsewhere (a program config element)
};

// §1.6.2.1. Nothing when it is cut off or says what cannot be.
std::optional<Config> parse_config(ByteSpan config);

}  // namespace weir::media::aac
