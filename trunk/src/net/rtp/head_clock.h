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
    // The steady clock follows the other one so fast, but for its first moment, in which the frames
    // of a GOP come at once, and after a jump.
    static constexpr int64_t kSteadyPpm = 2'000;
    static constexpr Micros kSettled{20'000};
    static constexpr Micros kJump{500'000};

    // The newest frame has that time.
    void note(int64_t head_ms, MonoTime now) {
        const Micros ahead =
            std::chrono::duration_cast<Micros>(Millis(head_ms) - now.time_since_epoch());
        if (ahead_) {
            const Micros passed = std::chrono::duration_cast<Micros>(now - noted_);
            ahead_ = std::max(ahead, *ahead_ - passed * kLeakPpm / 1'000'000);
            follow(now, passed);
        } else {
            ahead_ = steady_ = ahead;
            began_ = now;
        }
        noted_ = now;
    }

    // On the stream's timeline, in microseconds.
    int64_t at(MonoTime now) const {
        return std::chrono::duration_cast<Micros>(now.time_since_epoch()).count() +
               ahead_.value_or(Micros(0)).count();
    }

    // The same without steps: a receiver that sets its clock by each report shows no jump.
    int64_t steady(MonoTime now) const {
        return std::chrono::duration_cast<Micros>(now.time_since_epoch()).count() + steady_.count();
    }

  private:
    void follow(MonoTime now, Micros passed) {
        const Micros behind = *ahead_ - steady_;
        if (now - began_ <= kSettled || std::chrono::abs(behind) >= kJump) {
            steady_ = *ahead_;
        } else {
            const Micros step = passed * kSteadyPpm / 1'000'000;
            steady_ += std::clamp(behind, -step, step);
        }
    }

    std::optional<Micros> ahead_;  // the stream's time minus ours
    Micros steady_{0};
    MonoTime began_{};
    MonoTime noted_{};
};

}  // namespace weir::net
