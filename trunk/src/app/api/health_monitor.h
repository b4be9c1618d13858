// HealthMonitor: once a second it samples what rates are made of, and keeps a few figures of the
// last five minutes for plots. None of them says anything about a person.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/rate_history.h"
#include "net/client.h"
#include "net/services.h"

namespace weir::app {

struct HealthPoint {
    int64_t wall_ms = 0;
    float cpu = 0;   // of one core: 1 is a whole one
    float busy = 0;  // of the media thread, 0 to 1
    uint32_t memory_kib = 0;
    uint32_t received_kbps = 0;  // from publishers
    uint32_t sent_kbps = 0;      // to players
    uint32_t live = 0;           // streams
    uint32_t players = 0;
    uint32_t drops = 0;  // slow players moved or closed, since the point before
};

class HealthMonitor {
  public:
    static constexpr Millis kTick = RateClock::kPeriod;
    static constexpr uint64_t kTicksPerPoint = 2;
    static constexpr size_t kPoints = 150;  // five minutes
    // The media thread is given back after so long; there may be many clients.
    static constexpr Micros kSlice{1'000};

    explicit HealthMonitor(const net::Services& services) : services_(services) {}

    // Once a kTick. Yields.
    void tick();

    // Oldest first; at most kPoints.
    std::vector<HealthPoint> history() const;

    // All zero before the first.
    const HealthPoint& newest() const { return points_[count_ % kPoints]; }

    // Clients at the last tick.
    struct Sessions {
        net::ClientRole role;
        const char* transport;
        size_t count = 0;
    };

    const std::vector<Sessions>& sessions() const { return sessions_; }

  private:
    void sample_clients(MonoTime now);
    void add_point(MonoTime now);

    net::Services services_;
    uint64_t ticks_ = 0;
    uint64_t count_ = 0;  // of points
    std::array<HealthPoint, kPoints> points_{};
    std::vector<Sessions> sessions_;
    // Of the point before.
    MonoTime at_ = MonoClock::now();
    double cpu_seconds_ = 0;
    uint64_t busy_us_ = 0;
    uint64_t drops_ = 0;
};

}  // namespace weir::app
