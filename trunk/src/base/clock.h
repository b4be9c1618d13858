// Monotonic time. Protocol code gets time as a parameter; only io/, net/, session/ and app/ ask the
// clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace weir {

using Micros = std::chrono::microseconds;
using Millis = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;

// CLOCK_MONOTONIC in microseconds.
struct MonoClock {
    using duration = Micros;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<MonoClock>;
    static constexpr bool is_steady =
        true;  // NOLINT(readability-identifier-naming): name of the clock concept

    static time_point now();
};

using MonoTime = MonoClock::time_point;

// Wall clock as "2026-11-21T07:34:05.123Z", for logs and the API; never for measuring.
std::string wall_time_text();

// Milliseconds since the epoch, for the API.
int64_t wall_time_ms();

// The same in microseconds.
int64_t wall_time_us();

// What the wall clock said at a moment of the monotonic clock, as long as nobody has set it since.
// For sender reports: a pair of times is of one moment, however long ago the caller asked.
int64_t wall_time_us(MonoTime at);

}  // namespace weir
