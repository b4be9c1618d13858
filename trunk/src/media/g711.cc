#include "media/g711.h"

#include <algorithm>
#include <array>
#include <bit>

namespace weir::media::g711 {
namespace {

constexpr uint32_t kMaxMuMagnitude = 0x1FFF;  // 14 bits with the bias
constexpr uint32_t kMuBias = 33;
constexpr uint8_t kAToggle = 0x55;  // every second bit is turned on the line
constexpr uint8_t kPositive = 0x80;

// Negative samples are counted from -1 on, so that both signs have as many codes.
constexpr uint32_t magnitude_of(int16_t sample) {
    const int value = sample;
    return static_cast<uint32_t>(value < 0 ? -1 - value : value);
}

constexpr uint8_t encode_a(int16_t sample) {
    const uint32_t magnitude = magnitude_of(sample) >> 4U;  // 11 bits
    // The first two segments are one line; each further one has steps twice as large.
    const auto width = static_cast<uint32_t>(std::bit_width(magnitude));
    const uint32_t segment = width <= 4 ? 0 : width - 4;
    const uint32_t step = segment < 2 ? magnitude & 0x0FU : magnitude >> (segment - 1) & 0x0FU;
    const uint32_t code = segment << 4U | step | (sample < 0 ? 0U : kPositive);
    return static_cast<uint8_t>(code ^ kAToggle);
}

constexpr int16_t decode_a(uint8_t code) {
    const auto plain = static_cast<uint32_t>(code ^ kAToggle);
    const uint32_t segment = plain >> 4U & 7U;
    const uint32_t step = plain & 0x0FU;
    // The middle of the interval.
    uint32_t magnitude = (step << 4U) + 8;
    if (segment > 0) {
        magnitude = (magnitude + 0x100) << (segment - 1);
    }
    const auto value = static_cast<int16_t>(magnitude);
    return (plain & kPositive) != 0 ? value : static_cast<int16_t>(-value);
}

constexpr uint8_t encode_mu(int16_t sample) {
    const uint32_t biased = std::min((magnitude_of(sample) >> 2U) + kMuBias, kMaxMuMagnitude);
    const auto segment = static_cast<uint32_t>(std::bit_width(biased)) - 6;
    const uint32_t step = biased >> (segment + 1) & 0x0FU;
    const uint32_t code = segment << 4U | step | (sample < 0 ? kPositive : 0U);
    return static_cast<uint8_t>(~code);
}

constexpr int16_t decode_mu(uint8_t code) {
    const auto plain = static_cast<uint32_t>(static_cast<uint8_t>(~code));
    const uint32_t segment = plain >> 4U & 7U;
    const uint32_t step = plain & 0x0FU;
    const uint32_t magnitude = (((2 * step + kMuBias) << segment) - kMuBias) << 2U;
    const auto value = static_cast<int16_t>(magnitude);
    return (plain & kPositive) != 0 ? static_cast<int16_t>(-value) : value;
}

using DecodeTable = std::array<int16_t, 256>;
using ConvertTable = std::array<uint8_t, 256>;

template <typename Of>
constexpr auto table_of(Of of) {
    std::array<decltype(of(uint8_t{})), 256> table{};
    for (size_t code = 0; code < table.size(); code++) {
        table[code] = of(static_cast<uint8_t>(code));
    }
    return table;
}

constexpr DecodeTable kDecodeA = table_of(decode_a);
constexpr DecodeTable kDecodeMu = table_of(decode_mu);
constexpr ConvertTable kAToMu = table_of([](uint8_t code) { return encode_mu(decode_a(code)); });
constexpr ConvertTable kMuToA = table_of([](uint8_t code) { return encode_a(decode_mu(code)); });

}  // namespace

uint8_t encode(Law law, int16_t sample) {
    return law == Law::kA ? encode_a(sample) : encode_mu(sample);
}

int16_t decode(Law law, uint8_t code) {
    return law == Law::kA ? kDecodeA[code] : kDecodeMu[code];
}

void encode(Law law, std::span<const int16_t> samples, std::span<uint8_t> out) {
    if (law == Law::kA) {
        std::transform(samples.begin(), samples.end(), out.begin(), encode_a);
    } else {
        std::transform(samples.begin(), samples.end(), out.begin(), encode_mu);
    }
}

void decode(Law law, ByteSpan codes, std::span<int16_t> out) {
    const DecodeTable& table = law == Law::kA ? kDecodeA : kDecodeMu;
    std::transform(codes.begin(), codes.end(), out.begin(),
                   [&table](uint8_t code) { return table[code]; });
}

void convert(Law from, ByteSpan codes, std::span<uint8_t> out) {
    const ConvertTable& table = from == Law::kA ? kAToMu : kMuToA;
    std::transform(codes.begin(), codes.end(), out.begin(),
                   [&table](uint8_t code) { return table[code]; });
}

}  // namespace weir::media::g711
