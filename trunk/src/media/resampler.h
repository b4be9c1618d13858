// Resampler: PCM of one channel between the rates of telephony (8, 16, 24, 32, 48 kHz), by a
// polyphase filter. For calls and conferences; what has other rates or more channels goes through
// transcode/. It delays by 12 samples of the lower rate (1.5 ms at 8 kHz).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::media {

class Resampler {
  public:
    // Multiples of 8000 up to 48000; other rates are not taken (supports()).
    Resampler(uint32_t from_rate, uint32_t to_rate);

    static bool supports(uint32_t from_rate, uint32_t to_rate);

    // Appends what comes of these samples to `out`: over several calls as many as the rates say, at
    // most one more or less in a single call.
    void feed(std::span<const int16_t> in, std::vector<int16_t>& out);

    // Forgets the samples before: another source.
    void reset();

  private:
    size_t up_;  // to_rate / from_rate = up_ / down_, without a common divisor
    size_t down_;
    size_t taps_;  // of each phase
    size_t phase_ = 0;
    std::vector<int16_t> filter_;   // up_ phases of taps_ coefficients, 1.0 is 16384
    std::vector<int16_t> samples_;  // taps_ - 1 that came before, then the new ones
};

}  // namespace weir::media
