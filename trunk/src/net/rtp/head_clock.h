// HeadClock: the time of a stream now, on its timeline: that of the newest frame and what has
// passed since. For sender reports, which need one clock for all tracks. A plain value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace weir::net {

class HeadClock {
  public:
    // Frames that come late do not set it back at once: it leaks so much.
    static constexpr int64_t kLeakPpm = 1'000;

    // The newest frame has that time.
    void note(int64_t head_ms, MonoTime now) {
        const Micros ahead =
            std::chrono::duration_cast<Micros>(Millis(head_ms) - now.time_since_epoch());
        if (ahead_) {
            const Micros passed = std::chrono::duration_cast<Micros>(now - noted_);
            ahead_ = std::max(ahead, *ahead_ - passed * kLeakPpm / 1'000'000);
        } else {
            ahead_ = ahead;
        }
        noted_ = now;
    }

    // On the stream's timeline, in microseconds.
    int64_t at(MonoTime now) const {
        return std::chrono::duration_cast<Micros>(now.time_since_epoch()).count() +
               ahead_.value_or(Micros(0)).count();
    }

  private:
    std::optional<Micros> ahead_;  // the stream's time minus ours
    MonoTime noted_{};
};

}  // namespace weir::net
