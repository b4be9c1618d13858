#include "media/adts.h"

#include <algorithm>
#include <array>

#include "media/aac.h"
#include "media/bit_reader.h"

namespace weir::media::adts {
namespace {

constexpr uint8_t kLastRate = 12;  // of the table of sampling frequencies
constexpr uint8_t kSbr = 5;
constexpr uint8_t kParametricStereo = 29;
constexpr uint8_t kLastObjectType = 4;
constexpr uint8_t kLastChannelConfig = 7;
constexpr uint32_t kVariableRate = 0x7FF;  // buffer fullness

}  // namespace

std::optional<Header> Header::parse(ByteSpan frame) {
    // sync 12, version 1, layer 2, no CRC 1 | profile 2, rate 4, private 1, channels 3, original 1,
    // home 1, copyright 2 | size 13, fullness 11, blocks - 1 2
    if (frame.size() < kHeaderSize || frame[0] != 0xFF || (frame[1] & 0xF6) != 0xF0) {
        return std::nullopt;
    }
    Header out;
    out.has_crc = (frame[1] & 1) == 0;
    out.profile = frame[2] >> 6;
    out.rate_index = frame[2] >> 2 & 0x0F;
    out.channel_config = static_cast<uint8_t>((frame[2] & 1) << 2 | frame[3] >> 6);
    out.frame_size = (frame[3] & size_t{3}) << 11U | size_t{frame[4]} << 3U | frame[5] >> 5U;
    out.blocks = static_cast<uint8_t>((frame[6] & 3) + 1);
    if (out.rate_index > kLastRate || out.frame_size <= out.size()) {
        return std::nullopt;
    }
    return out;
}

std::optional<Header> Header::from_config(ByteSpan config) {
    BitReader bits(config);
    uint32_t type = bits.bits(5);
    Header out;
    out.rate_index = static_cast<uint8_t>(bits.bits(4));
    out.channel_config = static_cast<uint8_t>(bits.bits(4));
    if (type == kSbr || type == kParametricStereo) {
        if (bits.bits(4) > kLastRate) {  // of what is played
            return std::nullopt;
        }
        type = bits.bits(5);
    }
    if (!bits.ok() || type == 0 || type > kLastObjectType || out.rate_index > kLastRate ||
        out.channel_config == 0 || out.channel_config > kLastChannelConfig) {
        return std::nullopt;
    }
    out.profile = static_cast<uint8_t>(type - 1);
    return out;
}

void Header::write(uint8_t* out) const {
    out[0] = 0xFF;
    out[1] = 0xF1;  // MPEG-4, layer 0, no CRC
    out[2] = static_cast<uint8_t>(profile << 6 | rate_index << 2 | channel_config >> 2);
    out[3] = static_cast<uint8_t>(channel_config << 6 | frame_size >> 11);
    out[4] = static_cast<uint8_t>(frame_size >> 3);
    out[5] = static_cast<uint8_t>(frame_size << 5 | kVariableRate >> 6);
    out[6] = static_cast<uint8_t>(kVariableRate << 2 | (blocks - 1U));
}

uint32_t Header::sample_rate() const {
    const std::optional<aac::Config> parsed = aac::parse_config(config());
    return parsed ? parsed->core_rate : 0;
}

Bytes Header::config() const {
    const auto bits = static_cast<uint16_t>((profile + 1U) << 11U | unsigned{rate_index} << 7U |
                                            unsigned{channel_config} << 3U);
    Bytes out;
    ByteWriter(out).u16(bits);
    return out;
}

}  // namespace weir::media::adts
