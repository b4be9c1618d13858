#include "base/clock.h"

#include <fmt/format.h>
#include <time.h>

namespace weir {

MonoTime MonoClock::now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return MonoTime(Micros(int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000));
}

std::string wall_time_text() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm utc{};
    gmtime_r(&now.tv_sec, &utc);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                       utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                       now.tv_nsec / 1'000'000);
}

int64_t wall_time_ms() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

int64_t wall_time_us() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

int64_t wall_time_us(MonoTime at) {
    const MonoTime now = MonoClock::now();
    return wall_time_us() - (now - at).count();
}

}  // namespace weir
