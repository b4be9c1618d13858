// The end without dropping anybody: the listeners are closed, and the server goes on until the last
// client has left or a deadline has passed. Pure; driven by app/run/life.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/clock.h"

namespace weir::app {

// Who is still connected.
struct Remaining {
    size_t publishers = 0;
    size_t players = 0;
    size_t others = 0;  // neither yet

    size_t total() const { return publishers + players + others; }
};

// "publishers=1 players=3 others=0 remaining=4"
std::string to_string(const Remaining& remaining);

class Drain {
  public:
    static constexpr Millis kReportPeriod{5'000};
    static constexpr Millis kLook{100};  // how often step() is to be called

    bool begun() const { return begun_; }

    // Again: only the deadline is new.
    void begin(MonoTime now, Millis timeout);

    enum class Step : uint8_t {
        kWait,
        kReport,   // a line about who remains is due
        kDrained,  // nobody is left
        kExpired,  // the deadline has passed
    };

    Step step(MonoTime now, const Remaining& remaining);

    Seconds left(MonoTime now) const;

  private:
    bool begun_ = false;
    MonoTime deadline_{};
    MonoTime next_report_{};
};

}  // namespace weir::app
