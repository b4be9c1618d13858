// Deadline: until when a wait may last.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace weir::io {

// An absolute point in time that a wait ends at. There is no infinite one: the longest is kForever,
// 10 years.
class Deadline {
  public:
    static Deadline after(Micros delay) { return Deadline(MonoClock::now() + delay); }

    static Deadline at(MonoTime time) { return Deadline(time); }

    // For waits that another owner ends (by an interrupt); say which one at the call.
    static Deadline forever() { return Deadline(MonoClock::now() + std::chrono::hours(24 * 3650)); }

    MonoTime time() const { return time_; }

    bool passed() const { return MonoClock::now() >= time_; }

  private:
    explicit Deadline(MonoTime time) : time_(time) {}

    MonoTime time_;
};

}  // namespace weir::io
