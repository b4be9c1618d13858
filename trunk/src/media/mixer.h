// The audio of a conference: everybody hears the sum of all others. Pure sums of frames that belong
// to the same moment; decoding, times and threads are the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::media {

class Mixer {
  public:
    static constexpr size_t kMaxParties = 50;
    static constexpr size_t kMaxFrame = 5760;  // samples: 120 ms at 48 kHz

    // A frame of `size` samples (kMaxFrame at most) begins: nobody is heard yet.
    void begin(size_t size);

    // A party's frame, of that many samples: what is missing at its end is silence. False when
    // there are kMaxParties already.
    bool add(std::span<const int16_t> frame);

    // Everybody: for recording, and for those that say nothing.
    void mix(std::span<int16_t> out) const;

    // Everybody but this party, whose frame is as it was added.
    void mix_without(std::span<const int16_t> own, std::span<int16_t> out) const;

    size_t parties() const { return parties_; }

  private:
    std::vector<int32_t> sum_;
    size_t parties_ = 0;
};

// A sum as a sample of 16 bits. Up to three quarters of the range as it is; above, it bends
// smoothly towards the limit, so that loud sums neither wrap nor are cut off.
int16_t limit_softly(int32_t sum);

// The mean power of a frame.
double power_of(std::span<const int16_t> frame);

// Indices of the `most` loudest of `powers`, rising; all when there are not more.
std::vector<size_t> loudest(std::span<const double> powers, size_t most);

}  // namespace weir::media
