#include "media/tone.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace weir::media {

ToneGenerator::ToneGenerator(double hertz, uint32_t sample_rate, double amplitude)
    : step_(2 * std::numbers::pi * hertz / sample_rate),
      amplitude_(std::clamp(amplitude, 0.0, 32767.0)) {}

void ToneGenerator::fill(std::span<int16_t> out) {
    for (int16_t& sample : out) {
        sample = static_cast<int16_t>(std::lround(amplitude_ * std::sin(phase_)));
        phase_ += step_;
    }
    phase_ = std::fmod(phase_, 2 * std::numbers::pi);
}

double tone_share(std::span<const int16_t> samples, double hertz, uint32_t sample_rate) {
    const double coefficient = 2 * std::cos(2 * std::numbers::pi * hertz / sample_rate);
    double before = 0;
    double last = 0;
    double power = 0;
    for (const int16_t sample : samples) {
        const double value = sample + coefficient * last - before;
        before = std::exchange(last, value);
        power += static_cast<double>(sample) * sample;
    }
    if (power == 0) {
        return 0;
    }
    const double found = last * last + before * before - coefficient * last * before;
    // A sine of amplitude A over N samples: A²N²/4 is found of a power of A²N/2.
    return std::clamp(2 * found / (power * static_cast<double>(samples.size())), 0.0, 1.0);
}

double rms(std::span<const int16_t> samples) {
    double power = 0;
    for (const int16_t sample : samples) {
        power += static_cast<double>(sample) * sample;
    }
    return samples.empty() ? 0 : std::sqrt(power / static_cast<double>(samples.size()));
}

}  // namespace weir::media
