// RateGuard: whether a sender stays under a bit rate, over a sliding window. A plain value without
// a clock.
//
// The window is so long that a key frame, or what waited while the network stood still, is no
// offence; at many times the limit it is noticed in a fraction of the window.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "base/clock.h"

namespace weir::net {

class RateGuard {
  public:
    static constexpr Micros kWindow{10'000'000};

    // 0: no limit.
    explicit RateGuard(uint64_t bits_per_second = 0) : bits_per_second_(bits_per_second) {}

    // False when the bytes of the last window are more than the limit allows.
    bool take(MonoTime now, size_t bytes) {
        if (bits_per_second_ == 0) {
            return true;
        }
        const int64_t slot = now.time_since_epoch() / kSlot;
        for (int64_t passed = std::max(current_ + 1, slot - kSlots + 1); passed <= slot; passed++) {
            slots_[static_cast<size_t>(passed % kSlots)] = 0;
        }
        current_ = std::max(current_, slot);
        slots_[static_cast<size_t>(current_ % kSlots)] += bytes;
        const uint64_t sum = std::accumulate(slots_.begin(), slots_.end(), uint64_t{0});
        constexpr auto kSeconds = static_cast<uint64_t>(kWindow / Seconds(1));
        return sum / kSeconds <= bits_per_second_ / 8;
    }

    uint64_t bits_per_second() const { return bits_per_second_; }

  private:
    static constexpr int64_t kSlots = 20;
    static constexpr Micros kSlot = kWindow / kSlots;

    uint64_t bits_per_second_;
    int64_t current_ = 0;
    std::array<uint64_t, kSlots> slots_{};
};

}  // namespace weir::net
