// Tells from when packets were sent and when they arrived whether a queue builds up on the path:
// the delay-based half of draft-ietf-rmcat-gcc-02 (§5), with a line fitted through the delays in
// place of its Kalman filter.
//
// Packets sent within 5 ms are one group (§5.2). For each group the change of delay against the
// group before is added up; the slope of that sum over time says whether the queue grows, and is
// compared with a threshold that adapts itself (§5.4), so that a flow that fills queues does not
// starve this one. A machine without timers, about 300 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace weir::rtp {

enum class PathLoad : uint8_t {
    kNormal,
    kOver,   // the queue grows: send less
    kUnder,  // it empties: wait until it has
};

class DelayTrend {
  public:
    // A packet that arrived, in order of sending. The two clocks have nothing to do with each
    // other.
    void on_packet(Micros sent, Micros arrival);

    PathLoad load() const { return load_; }

    // Growth of the queueing delay, in seconds per second.
    double slope() const { return slope_; }

    // Forgets all but the threshold: the path changed, or nothing was sent for long.
    void reset();

  private:
    static constexpr size_t kWindow = 20;  // groups

    struct Group {
        Micros first_sent{};
        Micros last_sent{};
        Micros last_arrival{};
    };

    struct Point {
        float arrival_ms = 0;  // since first_arrival_
        float delay_ms = 0;
    };

    void on_group(const Group& group);
    void fit();
    void detect(double elapsed_ms, double send_ms);
    void adapt(double trend_ms, double elapsed_ms);

    std::optional<Group> current_;
    std::optional<Group> previous_;
    std::array<Point, kWindow> points_{};
    size_t count_ = 0;  // groups so far
    std::optional<Micros> first_arrival_;
    double sum_ms_ = 0;
    double smoothed_ms_ = 0;
    double slope_ = 0;
    double last_trend_ms_ = 0;
    double threshold_ms_ = 12.5;  // §5.4
    double over_for_ms_ = 0;
    int over_groups_ = 0;
    PathLoad load_ = PathLoad::kNormal;
};

}  // namespace weir::rtp
