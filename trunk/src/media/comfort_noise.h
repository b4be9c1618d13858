// Comfort noise (RFC 3389): what is heard while a telephone is silent and sends the level of its
// noise only. White noise of that level; the spectrum that a packet may describe is not used.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace weir::media {

inline constexpr uint8_t kMaxNoiseLevel = 127;

// The level of a payload (RFC 3389 §3): minus dBov, 0 (overload) to 127. Nothing when it is empty.
std::optional<uint8_t> parse_noise_level(ByteSpan payload);

// The level of these samples, for a payload that is sent; 127 for silence. RFC 3389 §4.1: 0 dBov is
// a square wave of the greatest amplitude.
uint8_t noise_level_of(std::span<const int16_t> samples);

class ComfortNoise {
  public:
    explicit ComfortNoise(uint64_t seed) : state_(seed | 1U) {}

    // Minus dBov; above kMaxNoiseLevel is silence.
    void set_level(uint8_t level);

    // Overwrites `out`, or adds to what is there. The level changes slowly, without a click.
    void fill(std::span<int16_t> out);
    void add(std::span<int16_t> out);

  private:
    int32_t next();

    uint64_t state_;
    int32_t gain_ = 0;  // in force; of noise within -32768 to 32767, 16 bits behind the point
    int32_t target_ = 0;
};

}  // namespace weir::media
