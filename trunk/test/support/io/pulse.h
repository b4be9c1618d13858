// Tells a test whether this process stood still meanwhile: on a busy machine it may get no turn
// for a second or two. What is judged by real time then says nothing, and is tried again.
#pragma once

#include "base/clock.h"
#include "io/coroutine.h"

#include "test/support/io/loopback.h"

namespace weir::io {

class Pulse {
  public:
    // Tries that are enough for one without a disturbance.
    static constexpr int kTries = 8;

    Pulse() : beat_(go([this] { beat(); })) {}

    // Yields.
    ~Pulse() {
        beat_.interrupt();
        beat_.join();
    }

    Pulse(const Pulse&) = delete;
    Pulse& operator=(const Pulse&) = delete;

    bool stood_still() const { return late_ || MonoClock::now() - last_ > kLongest; }

  private:
    static constexpr Millis kLongest{300};

    void beat() {
        while (!sleep_for(Millis(10))) {
            late_ = stood_still();
            last_ = MonoClock::now();
        }
    }

    MonoTime last_ = MonoClock::now();
    bool late_ = false;
    Coroutine beat_;  // the last: it runs on the members above
};

}  // namespace weir::io
