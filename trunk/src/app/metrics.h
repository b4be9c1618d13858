// /metrics: Prometheus text format 0.0.4.
#pragma once

#include <string>

#include "base/clock.h"
#include "net/services.h"
#include "session/webrtc/rtc_server.h"

namespace weir::app {

// Streams past this many get no series of their own (the totals include them): bounded cardinality.
inline constexpr size_t kMaxStreamSeries = 200;

// `rtc`: null where there is no WebRTC.
std::string metrics_text(const net::Services& services,
                         const session::RtcServer* rtc,
                         MonoTime started);

}  // namespace weir::app
