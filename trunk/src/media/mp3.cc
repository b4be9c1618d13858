#include "media/mp3.h"

#include <array>

namespace weir::media::mp3 {
namespace {

// In kbit/s, by index; of 0 the rate is free, 15 is not allowed.
constexpr std::array<uint16_t, 16> kMpeg1Rates = {0,   32,  40,  48,  56,  64,  80,  96,
                                                  112, 128, 160, 192, 224, 256, 320, 0};
constexpr std::array<uint16_t, 16> kMpeg2Rates = {0,  8,  16, 24,  32,  40,  48,  56,
                                                  64, 80, 96, 112, 128, 144, 160, 0};
constexpr std::array<uint32_t, 3> kSampleRates = {44'100, 48'000, 32'000};

constexpr uint32_t kMpeg25 = 0;
constexpr uint32_t kReservedVersion = 1;
constexpr uint32_t kMpeg1 = 3;
constexpr uint32_t kLayer3 = 1;
constexpr uint32_t kMono = 3;

}  // namespace

std::optional<FrameHeader> parse_header(ByteSpan frame) {
    // 11 bits sync, 2 version, 2 layer, 1 no CRC | 4 bit rate, 2 sample rate, 1 padding, 1 private
    // | 2 mode ...
    if (frame.size() < kHeaderSize || frame[0] != 0xFF || (frame[1] & 0xE0) != 0xE0) {
        return std::nullopt;
    }
    const uint32_t version = frame[1] >> 3U & 3U;
    const uint32_t layer = frame[1] >> 1U & 3U;
    const uint32_t rate = frame[2] >> 2U & 3U;
    if (version == kReservedVersion || layer != kLayer3 || rate >= kSampleRates.size()) {
        return std::nullopt;
    }
    FrameHeader out;
    out.mpeg1 = version == kMpeg1;
    out.has_crc = (frame[1] & 1U) == 0;
    out.sample_rate = kSampleRates[rate] / (out.mpeg1 ? 1 : version == kMpeg25 ? 4 : 2);
    const size_t index = frame[2] >> 4U;
    out.bitrate_bps = (out.mpeg1 ? kMpeg1Rates : kMpeg2Rates)[index] * 1000U;
    if (out.bitrate_bps == 0) {
        return std::nullopt;
    }
    out.channels = frame[3] >> 6U == kMono ? 1 : 2;
    out.samples = out.mpeg1 ? 1152 : 576;
    const size_t padding = frame[2] >> 1U & 1U;
    out.size = size_t{out.samples} / 8 * out.bitrate_bps / out.sample_rate + padding;
    return out;
}

}  // namespace weir::media::mp3
