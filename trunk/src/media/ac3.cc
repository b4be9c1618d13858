#include "media/ac3.h"

#include <array>

namespace weir::media::ac3 {
namespace {

constexpr std::array<uint32_t, 3> kRates = {48'000, 44'100, 32'000};
// kbit/s, TS 102 366 table 4.13.
constexpr std::array<uint16_t, 19> kBitRates = {32,  40,  48,  56,  64,  80,  96,  112, 128, 160,
                                                192, 224, 256, 320, 384, 448, 512, 576, 640};
constexpr std::array<uint16_t, 4> kBlocks = {1, 2, 3, 6};
constexpr uint16_t kBlockSamples = 256;
constexpr uint8_t kReserved = 3;    // fscod: enhanced has half a rate there
constexpr uint8_t kLastOfAc3 = 10;  // bsid
constexpr uint8_t kLastOfEac3 = 16;

// Bytes of a frame of AC-3: words of 16 bits of 1536 samples; at 44,100 Hz every other one has a
// word more.
size_t frame_size(uint8_t rate, uint8_t code) {
    const size_t bit_rate = kBitRates[code / 2U] * size_t{1000};
    const size_t words = bit_rate * 96 / kRates[rate];
    return 2 * (words + (rate == 1 ? code % 2U : 0U));
}

std::optional<FrameHeader> parse_enhanced(ByteSpan frame) {
    // sync 16 | type 2, substream 3, size 11 | rate 2, blocks 2 (or half rate 2) ...
    FrameHeader out;
    out.enhanced = true;
    const uint8_t type = frame[2] >> 6;
    const uint8_t substream = frame[2] >> 3 & 7;
    const uint8_t rate = frame[4] >> 6;
    const uint8_t second = frame[4] >> 4 & 3;
    if (type == 3 || (rate == kReserved && second == kReserved)) {
        return std::nullopt;
    }
    out.dependent = type == 1 || substream != 0;
    out.size = 2 * (((frame[2] & size_t{7}) << 8U | frame[3]) + 1);
    out.sample_rate = rate == kReserved ? kRates[second] / 2 : kRates[rate];
    out.samples = static_cast<uint16_t>(kBlockSamples * (rate == kReserved ? 6 : kBlocks[second]));
    return out.size < kHeaderSize ? std::nullopt : std::optional(out);
}

}  // namespace

std::optional<FrameHeader> parse_header(ByteSpan frame) {
    if (frame.size() < kHeaderSize || frame[0] != 0x0B || frame[1] != 0x77) {
        return std::nullopt;
    }
    const uint8_t bsid = frame[5] >> 3;
    if (bsid > kLastOfAc3) {
        return bsid > kLastOfEac3 ? std::nullopt : parse_enhanced(frame);
    }
    const uint8_t rate = frame[4] >> 6;
    const uint8_t code = frame[4] & 0x3F;
    if (rate == kReserved || code >= 2 * kBitRates.size()) {
        return std::nullopt;
    }
    FrameHeader out;
    // bsid 9 and 10 halve the rate once and twice.
    const unsigned halved = bsid > 8 ? bsid - 8U : 0U;
    out.sample_rate = kRates[rate] >> halved;
    out.size = frame_size(rate, code);
    return out;
}

}  // namespace weir::media::ac3
