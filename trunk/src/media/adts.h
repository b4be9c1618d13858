// ADTS: the header before each frame of AAC where nothing else describes the sound (ISO/IEC 13818-7
// §6.2, ISO/IEC 14496-3 §1.A.2.2): in transport streams, in files of HLS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weir::media::adts {

inline constexpr size_t kHeaderSize = 7;
inline constexpr size_t kMaxFrame = 0x1FFF;  // 13 bits, with the header

struct Header {
    uint8_t profile = 1;  // the object type less 1: 1 is LC
    uint8_t rate_index = 0;
    uint8_t channel_config = 0;  // 0: said in the frame
    bool has_crc = false;
    uint8_t blocks = 1;     // raw data blocks in the frame
    size_t frame_size = 0;  // in bytes, with the header

    bool operator==(const Header&) const = default;

    // Needs kHeaderSize bytes. Nothing for what is no header.
    static std::optional<Header> parse(ByteSpan frame);

    // What a player is told of a configuration. Nothing where ADTS cannot say it: object types over
    // 4, other rates than those of the table, channels that are said elsewhere. With SBR it is that
    // of the core.
    static std::optional<Header> from_config(ByteSpan config);

    // Writes kHeaderSize bytes, without CRC; `frame_size` is at most kMaxFrame.
    void write(uint8_t* out) const;

    // Of header and CRC.
    size_t size() const { return kHeaderSize + (has_crc ? 2 : 0); }

    uint32_t sample_rate() const;

    // AudioSpecificConfig.
    Bytes config() const;
};

}  // namespace weir::media::adts
