// Whether new clients should come to this server: what balancers ask for. Pure; fed once a second
// by app/run/server.cc. It says nothing of whether the server works (that is /healthz), and clients
// that come all the same are served as ever.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"

namespace weir::app {

class Readiness {
  public:
    // The media thread is too busy for more clients when each of so many samples in a row was
    // above kBusyAbove, and no longer when each of as many was below kBusyBelow.
    static constexpr double kBusyAbove = 0.9;
    static constexpr double kBusyBelow = 0.8;
    static constexpr uint32_t kSamples = 5;

    enum class State : uint8_t { kStarting, kReady, kBusy, kDraining };

    // The server serves.
    void start() { started_ = true; }

    // For good.
    void drain() { draining_ = true; }

    // Once a second or so. `busy_us`: how long the media thread has worked since the process began,
    // microseconds (io::TurnStats).
    void sample(MonoTime now, uint64_t busy_us);

    // The first that holds: draining, starting, busy.
    State state() const;

    // Between the last two samples, 0 to 1.
    double busy_ratio() const { return busy_ratio_; }

  private:
    bool started_ = false;
    bool draining_ = false;
    bool busy_ = false;
    uint32_t against_ = 0;  // samples in a row that contradict busy_
    bool sampled_ = false;
    MonoTime at_{};
    uint64_t busy_us_ = 0;
    double busy_ratio_ = 0;
};

// "ok", "starting", "busy", "draining".
std::string_view to_string(Readiness::State state);

}  // namespace weir::app
