#include "media/comfort_noise.h"

#include <algorithm>
#include <cmath>

#include "media/tone.h"

namespace weir::media {
namespace {

constexpr uint8_t kLevelBits = 0x7F;
constexpr double kOverload = 32768;
constexpr double kOne = 65536;
constexpr int32_t kRampSamples = 160;  // to a new level

}  // namespace

std::optional<uint8_t> parse_noise_level(ByteSpan payload) {
    return payload.empty() ? std::nullopt
                           : std::optional(static_cast<uint8_t>(payload[0] & kLevelBits));
}

uint8_t noise_level_of(std::span<const int16_t> samples) {
    const double level = rms(samples);
    if (level <= 0) {
        return kMaxNoiseLevel;
    }
    return static_cast<uint8_t>(
        std::clamp(std::lround(-20 * std::log10(level / kOverload)), 0L, long{kMaxNoiseLevel}));
}

void ComfortNoise::set_level(uint8_t level) {
    // The sum of two equal distributions of ±16384 has a deviation of 16384 · √(2/3).
    const double natural = kOverload / 2 * std::sqrt(2.0 / 3.0);
    const double wanted = level >= kMaxNoiseLevel ? 0 : kOverload * std::pow(10, -level / 20.0);
    target_ = static_cast<int32_t>(std::lround(wanted / natural * kOne));
}

int32_t ComfortNoise::next() {
    // xorshift64* (Vigna 2016): fast, and its upper bits are good.
    state_ ^= state_ >> 12U;
    state_ ^= state_ << 25U;
    state_ ^= state_ >> 27U;
    const uint64_t bits = state_ * 0x2545F4914F6CDD1DU;
    const auto first = static_cast<int32_t>(bits >> 49U) - 16384;
    const auto second = static_cast<int32_t>(bits >> 34U & 0x7FFFU) - 16384;
    if (gain_ != target_) {
        const int32_t step = std::max(1, std::abs(target_ - gain_) / kRampSamples);
        gain_ += std::clamp(target_ - gain_, -step, step);
    }
    return static_cast<int32_t>(int64_t{first + second} * gain_ / 65536);
}

void ComfortNoise::fill(std::span<int16_t> out) {
    std::fill(out.begin(), out.end(), int16_t{0});
    add(out);
}

void ComfortNoise::add(std::span<int16_t> out) {
    if (gain_ == 0 && target_ == 0) {
        return;
    }
    for (int16_t& sample : out) {
        sample = static_cast<int16_t>(std::clamp(sample + next(), -32768, 32767));
    }
}

}  // namespace weir::media
