#include "base/clock.h"

#include <time.h>

#include "base/rfc3339.h"

namespace weir {

MonoTime MonoClock::now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return MonoTime(Micros(int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000));
}

std::string wall_time_text() {
    return write_time_point(wall_time_ms());
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
