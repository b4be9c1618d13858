// RateHistory: how fast a counter has grown over the last 1, 10 and 30 seconds, from a sample a
// second. 68 bytes a counter: there is one for each direction of each client.
//
// A RateClock keeps the times of the samples, once for all histories that are sampled together. A
// window ends now and begins at a sample: it is up to two seconds longer than asked, and what it
// gives is exact for that time. Nothing here allocates or yields.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace weir {

class RateClock {
  public:
    static constexpr Millis kPeriod{1'000};  // of tick(), roughly
    static constexpr uint64_t kKept = 32;    // ticks

    // Before the counters are sampled.
    void tick(MonoTime now) { times_[++count_ % kKept] = now; }

    // Number of the newest tick; 0: there was none.
    uint64_t count() const { return count_; }

    // The time of one of the newest kKept ticks.
    MonoTime time_of(uint64_t tick) const { return times_[tick % kKept]; }

  private:
    std::array<MonoTime, kKept> times_{};
    uint64_t count_ = 0;
};

// What the windows are: what the API shows.
inline constexpr std::array<Millis, 3> kRateWindows{Millis(1'000), Millis(10'000), Millis(30'000)};

// `kUnit`: samples are kept in 32 bits, and wrap after that many times 2^32.
template <uint32_t kUnit>
class CounterHistory {
  public:
    // After the clock's tick().
    void sample(const RateClock& clock, uint64_t counter) {
        const uint64_t tick = clock.count();
        (tick % 2 == 0 ? even_[tick / 2 % kEven] : odd_) = scaled(counter);
    }

    // Growth of the counter per second. `counter`: its value now; `since`: when it was 0. A counter
    // that is younger than the window is taken over its life, but over no less than a second.
    double per_second(const RateClock& clock,
                      MonoTime now,
                      MonoTime since,
                      uint64_t counter,
                      Millis window) const {
        MonoTime begin = since;
        auto grown = static_cast<double>(counter);
        const uint64_t tick = since < now - window ? tick_before(clock, now - window) : 0;
        if (tick > 0 && clock.time_of(tick) >= since) {
            begin = clock.time_of(tick);
            const uint32_t then = tick % 2 == 0 ? even_[tick / 2 % kEven] : odd_;
            grown = static_cast<double>(scaled(counter) - then) * kUnit;  // modulo 2^32
        }
        constexpr int64_t kShortest = 1'000'000;
        return grown * 1e6 /
               static_cast<double>(std::max<int64_t>((now - begin).count(), kShortest));
    }

  private:
    static constexpr uint64_t kEven = RateClock::kKept / 2;

    static uint32_t scaled(uint64_t counter) { return static_cast<uint32_t>(counter / kUnit); }

    // The newest tick at or before that time whose sample is still here: of the odd ones only the
    // last is. The oldest of them when none is that old; 0 when there was no tick.
    static uint64_t tick_before(const RateClock& clock, MonoTime time) {
        const uint64_t newest = clock.count();
        uint64_t found = 0;
        for (uint64_t tick = newest; tick > 0 && newest - tick < RateClock::kKept; tick--) {
            if (tick % 2 == 0 || newest - tick <= 1) {
                found = tick;
                if (clock.time_of(tick) <= time) {
                    break;
                }
            }
        }
        return found;
    }

    std::array<uint32_t, kEven> even_{};
    uint32_t odd_ = 0;
};

using RateHistory = CounterHistory<16>;  // of bytes: 64 GiB in half a minute
using FrameHistory = CounterHistory<1>;

}  // namespace weir
