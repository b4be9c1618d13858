#include "media/mp3.h"

#include <array>

namespace weir::media::mp3 {
namespace {

// In kbit/s, by index; of 0 the rate is free, 15 is not allowed. Of MPEG 1 by layer.
constexpr std::array<std::array<uint16_t, 16>, 3> kMpeg1Rates = {{
    {0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 0},
    {0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 0},
    {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0},
}};
// Of MPEG 2 and 2.5: layer I, and the other two.
constexpr std::array<std::array<uint16_t, 16>, 2> kMpeg2Rates = {{
    {0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256, 0},
    {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0},
}};
constexpr std::array<uint32_t, 3> kSampleRates = {44'100, 48'000, 32'000};

constexpr uint32_t kMpeg25 = 0;
constexpr uint32_t kReservedVersion = 1;
constexpr uint32_t kMpeg1 = 3;
constexpr uint32_t kMono = 3;

}  // namespace

std::optional<FrameHeader> parse_any_layer(ByteSpan frame) {
    // 11 bits sync, 2 version, 2 layer, 1 no CRC | 4 bit rate, 2 sample rate, 1 padding, 1 private
    // | 2 mode ...
    if (frame.size() < kHeaderSize || frame[0] != 0xFF || (frame[1] & 0xE0) != 0xE0) {
        return std::nullopt;
    }
    const uint32_t version = frame[1] >> 3U & 3U;
    const uint32_t layer = 4 - (frame[1] >> 1U & 3U);  // 4: reserved
    const uint32_t rate = frame[2] >> 2U & 3U;
    if (version == kReservedVersion || layer > 3 || rate >= kSampleRates.size()) {
        return std::nullopt;
    }
    FrameHeader out;
    out.layer = static_cast<uint8_t>(layer);
    out.mpeg1 = version == kMpeg1;
    out.has_crc = (frame[1] & 1U) == 0;
    out.sample_rate = kSampleRates[rate] / (out.mpeg1 ? 1 : version == kMpeg25 ? 4 : 2);
    const size_t index = frame[2] >> 4U;
    const auto& rates = out.mpeg1 ? kMpeg1Rates[layer - 1] : kMpeg2Rates[layer == 1 ? 0 : 1];
    out.bitrate_bps = rates[index] * 1000U;
    if (out.bitrate_bps == 0) {
        return std::nullopt;
    }
    out.channels = frame[3] >> 6U == kMono ? 1 : 2;
    const size_t padding = frame[2] >> 1U & 1U;
    if (layer == 1) {  // slots of four bytes
        out.samples = 384;
        out.size = (size_t{12} * out.bitrate_bps / out.sample_rate + padding) * 4;
        return out;
    }
    out.samples = out.mpeg1 || layer == 2 ? 1152 : 576;
    out.size = size_t{out.samples} / 8 * out.bitrate_bps / out.sample_rate + padding;
    return out;
}

std::optional<FrameHeader> parse_header(ByteSpan frame) {
    const std::optional<FrameHeader> header = parse_any_layer(frame);
    return header && header->layer == 3 ? header : std::nullopt;
}

}  // namespace weir::media::mp3
