// What a publisher without transport-wide feedback is told it may send (REMB,
// draft-alvestrand-rmcat-remb-03): the same estimate as BandwidthEstimator's, made on this side
// from the absolute send times in its packets (proto/rtp/extensions.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/object_count.h"
#include "proto/rtp/delay_trend.h"
#include "proto/rtp/rate_control.h"

namespace weir::rtp {

class RembEstimator final : private Counted<RembEstimator> {
  public:
    static constexpr ObjectName kObjectName{"remb_estimator", "webrtc"};
    static constexpr Micros kInterval = Seconds(1);         // between two messages
    static constexpr Micros kUpdateInterval = Millis(100);  // of the rate in between

    explicit RembEstimator(const RateLimits& limits) : delay_(limits) {}

    // `absolute_send_time`: the 24 bits of the extension; nothing when the packet has none.
    void on_packet(MonoTime now, std::optional<uint32_t> absolute_send_time, size_t bytes);

    // Each second, and at once when the rate fell.
    std::optional<MonoTime> next_timeout() const;

    // The rate to send in a REMB now; nothing when none is due.
    std::optional<int64_t> poll(MonoTime now);

    int64_t bps() const { return delay_.bps(); }

  private:
    DelayTrend trend_;
    RateMeter arriving_;
    DelayRate delay_;
    std::optional<uint32_t> last_send_time_;
    int64_t sent_us_ = 0;  // unwrapped
    std::optional<MonoTime> updated_;
    std::optional<MonoTime> told_;
    int64_t told_bps_ = 0;
};

}  // namespace weir::rtp
