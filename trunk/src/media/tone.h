// Tones: a generator of sines, and how much of a block of samples is one frequency (Goertzel). For
// checks of what is heard; not for DTMF in the audio.
#pragma once

#include <cstdint>
#include <span>

namespace weir::media {

// A sine whose phase goes on from call to call.
class ToneGenerator {
  public:
    // `amplitude`: of the peaks, 0 to 32767.
    ToneGenerator(double hertz, uint32_t sample_rate, double amplitude = 8000);

    void fill(std::span<int16_t> out);

  private:
    double step_;  // radians a sample
    double amplitude_;
    double phase_ = 0;
};

// The share of a block's power that is this frequency, 0 to 1: 1 for a pure sine. 0 for silence.
// Blocks of some periods at least; the width of the filter is sample_rate / samples.size().
double tone_share(std::span<const int16_t> samples, double hertz, uint32_t sample_rate);

// Root of the mean square, 0 to 32768.
double rms(std::span<const int16_t> samples);

}  // namespace weir::media
