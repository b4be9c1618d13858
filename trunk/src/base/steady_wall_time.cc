#include "base/steady_wall_time.h"

#include "base/clock.h"

namespace weir {

int64_t steady_wall_time_ms() {
    static const int64_t offset_us = wall_time_us() - MonoClock::now().time_since_epoch().count();
    return (MonoClock::now().time_since_epoch().count() + offset_us) / 1000;
}

}  // namespace weir
