#include "app/api/health_monitor.h"

#include <algorithm>
#include <string_view>

#include "base/rate_history.h"
#include "diagnosis/process_stats.h"
#include "io/coroutine.h"
#include "io/runtime.h"
#include "net/client.h"
#include "net/client_table.h"
#include "net/fanout.h"
#include "net/pump_stats.h"
#include "stream/registry.h"
#include "stream/stream.h"

namespace weir::app {
namespace {

constexpr size_t kClientsPerLook = 64;  // the clock is read after so many

void count(std::vector<HealthMonitor::Sessions>& sessions, const net::Client& client) {
    const std::string_view transport = client.transport();
    for (HealthMonitor::Sessions& each : sessions) {
        if (each.role == client.role && each.transport == transport) {
            each.count++;
            return;
        }
    }
    sessions.push_back({client.role, client.transport(), 1});
}

}  // namespace

void HealthMonitor::tick() {
    MonoTime now = MonoClock::now();
    services_.registry.sample(now);
    sample_clients(now);
    if (++ticks_ % kTicksPerPoint == 0) {
        add_point(MonoClock::now());
    }
}

void HealthMonitor::sample_clients(MonoTime now) {
    std::vector<Sessions> sessions;
    sessions.reserve(sessions_.size() + 1);
    services_.clients.begin_sample(now);
    net::ClientWalk walk(services_.clients);
    MonoTime slice_begin = now;
    size_t seen = 0;
    while (net::Client* client = walk.next()) {
        services_.clients.take_sample(*client, now);
        count(sessions, *client);
        if (++seen % kClientsPerLook == 0 && MonoClock::now() - slice_begin > kSlice) {
            io::yield();
            slice_begin = MonoClock::now();
        }
    }
    sessions_ = std::move(sessions);
}

void HealthMonitor::add_point(MonoTime now) {
    const double elapsed = static_cast<double>(std::max<int64_t>((now - at_).count(), 1)) / 1e6;
    const double cpu_seconds = diagnosis::cpu_time();
    const uint64_t busy_us = io::turn_stats().busy_us;
    const net::PumpStats& pump = services_.fanout.stats();
    const uint64_t drops = pump.resyncs + pump.stalled;
    HealthPoint point;
    point.wall_ms = wall_time_ms();
    point.cpu = static_cast<float>((cpu_seconds - cpu_seconds_) / elapsed);
    point.busy =
        static_cast<float>(std::min(static_cast<double>(busy_us - busy_us_) / 1e6 / elapsed, 1.0));
    point.memory_kib = static_cast<uint32_t>(diagnosis::memory_stats().resident_bytes / 1024);
    point.drops = static_cast<uint32_t>(drops - drops_);
    const RateClock& clock = services_.registry.clock();
    double received = 0;
    double sent = 0;
    services_.registry.for_each([&](const stream::Stream& stream) {
        received += stream.receive_bps(clock, now, kRateWindows[0]);
        sent += stream.send_bps(clock, now, kRateWindows[0]);
        point.live += stream.live() ? 1U : 0U;
    });
    point.received_kbps = static_cast<uint32_t>(received / 1000);
    point.sent_kbps = static_cast<uint32_t>(sent / 1000);
    for (const Sessions& each : sessions_) {
        point.players +=
            each.role == net::ClientRole::kPlayer ? static_cast<uint32_t>(each.count) : 0;
    }
    at_ = now;
    cpu_seconds_ = cpu_seconds;
    busy_us_ = busy_us;
    drops_ = drops;
    points_[++count_ % kPoints] = point;
}

std::vector<HealthPoint> HealthMonitor::history() const {
    std::vector<HealthPoint> points;
    const uint64_t first = count_ < kPoints ? 1 : count_ - kPoints + 1;
    for (uint64_t i = first; i <= count_; i++) {
        points.push_back(points_[i % kPoints]);
    }
    return points;
}

}  // namespace weir::app
