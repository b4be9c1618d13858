// Options that only RTSP players have.
#pragma once

#include <string>

#include "base/clock.h"

namespace weir::load {

struct RtspPlayRunOptions {
    std::string transport = "tcp";  // or "udp", "multicast"
    Millis pause_after{0};          // 0: never
    Millis pause_for{1'000};
};

}  // namespace weir::load
