// Decides when a mapping between a stream's time and a clock has to be made anew. Jitter of
// arrivals and a publisher that was held up for a moment must not move it: only checks in a row
// that are all far off do.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace weir::net {

class FarOff {
  public:
    static constexpr uint32_t kTimes = 2;

    explicit constexpr FarOff(int64_t limit_ms) : limit_ms_(limit_ms) {}

    // `off_ms`: how far the mapping is off, of either sign. True: for the kTimes-th time in a row,
    // so correct it now.
    bool check(int64_t off_ms) {
        times_ = std::abs(off_ms) > limit_ms_ ? times_ + 1 : 0;
        if (times_ < kTimes) {
            return false;
        }
        times_ = 0;
        return true;
    }

    void restart() { times_ = 0; }

  private:
    int64_t limit_ms_;
    uint32_t times_ = 0;
};

}  // namespace weir::net
