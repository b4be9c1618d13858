// One tick of a conference: the frames of 20 ms of all who speak, and what each party hears of
// them: the sum of all others. Telephones of 8 kHz and of 16 kHz meet in two sums, each of which
// has the other's as one more party, so that nobody is converted alone. Pure.
//
//     begin(); add() for each that speaks; mix(); then ask for each that hears
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "media/mixer.h"
#include "media/resampler.h"

namespace weir::session {

class ConferenceMix {
  public:
    static constexpr size_t kMaxParties = media::Mixer::kMaxParties;
    static constexpr size_t kNarrowFrame = 160;  // 20 ms at 8 kHz
    static constexpr size_t kWideFrame = 320;    // and at 16 kHz

    ConferenceMix();

    // `wide`: somebody hears or speaks at 16 kHz.
    void begin(bool wide);

    // kNarrowFrame or kWideFrame samples.
    void add(std::span<const int16_t> frame);

    void mix();

    // What a party hears whose own frame was added, and is taken out again; empty: it said nothing.
    void narrow(std::span<const int16_t> own, std::span<int16_t> out) const;
    void wide(std::span<const int16_t> own, std::span<int16_t> out) const;

  private:
    using Narrow = std::array<int16_t, kNarrowFrame>;
    using Wide = std::array<int16_t, kWideFrame>;

    static void take(std::vector<int16_t>& from, std::span<int16_t> out);

    media::Mixer narrow_;
    media::Mixer wide_;
    media::Resampler down_;
    media::Resampler up_;
    std::vector<int16_t> from_wide_;  // what the resamplers gave
    std::vector<int16_t> from_narrow_;
    bool has_wide_ = false;
};

}  // namespace weir::session
