// /metrics: Prometheus text format 0.0.4.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "base/clock.h"

namespace weir::diagnosis {
struct ProcessStats;
}

namespace weir::io {
class WorkerPool;
}

namespace weir::net {
class Exposition;
struct Services;
}  // namespace weir::net

namespace weir::app {

class HealthMonitor;
class ProtocolSet;

struct MetricsSources {
    const net::Services& services;
    const ProtocolSet& protocols;
    const HealthMonitor* health = nullptr;    // null: none
    const io::WorkerPool* workers = nullptr;  // null: none
    const diagnosis::ProcessStats& process;
    MonoTime started;
    // Live streams past this many get no series of their own (the totals include them): bounded
    // cardinality, whatever publishers do.
    size_t most_streams = 0;
};

// Writes the metrics of a part of the server that keeps its own counters. Never yields. The names
// begin with weir_; labels have few values, whatever clients do.
using MetricsPart = std::function<void(net::Exposition&)>;

std::string metrics_text(const MetricsSources& from, std::span<const MetricsPart> more = {});

}  // namespace weir::app
