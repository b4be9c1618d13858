// /metrics: Prometheus text format 0.0.4.
#pragma once

#include <string>

#include "base/clock.h"
#include "net/services.h"

namespace weir::app {

// Streams past this many get no series of their own (the totals include them): bounded cardinality.
inline constexpr size_t kMaxStreamSeries = 200;

std::string metrics_text(const net::Services& services, MonoTime started);

}  // namespace weir::app
