// AAC (ISO/IEC 14496-3): what an AudioSpecificConfig, the sequence header of FLV and MP4, says of
// the sound. No decoding.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "media/bit_reader.h"

namespace weir::media::aac {

struct Config {
    uint8_t object_type = 0;        // of what is played: 2 LC, 5 HE (SBR), 29 HE v2 (SBR and PS)
    uint32_t sample_rate = 0;       // of what is played: with SBR twice that of the core
    uint8_t channels = 0;           // 0: said elsewhere (a program config element)
    uint32_t core_rate = 0;         // of what is encoded
    uint32_t frame_samples = 1024;  // of a frame, at the core's rate
    bool extended = false;          // read_config(): SBR was spoken of behind its own fields

    // How long a frame is in units of a clock; 0 when that cannot be.
    uint32_t frame_ticks(uint32_t clock_hz) const {
        return core_rate == 0
                   ? 0
                   : static_cast<uint32_t>(uint64_t{frame_samples} * clock_hz / core_rate);
    }
};

// §1.6.2.1. Nothing when it is cut off or says what cannot be.
std::optional<Config> parse_config(ByteSpan config);

// The same where other bits follow and no length is said (LATM, §1.7.3): of what is behind its own
// fields, only SBR's extension is read. Nothing for channels that are said elsewhere, and for other
// object types than Main, LC, SSR, LTP and these with SBR: where those end is not known here.
std::optional<Config> read_config(BitReader& bits);

// A configuration of AAC LC, where a source names rate and channels only. Empty when the short form
// (two bytes) cannot say them.
Bytes build_lc_config(uint32_t sample_rate, uint8_t channels);

}  // namespace weir::media::aac
