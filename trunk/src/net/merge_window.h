// MergeWindow: how long a player's media is held back so that several messages go out in one write
// (mw_latency auto).
//
// Writes are what fan-out costs (doc/adr/0005-fan-out.md). The window is 0 while the media thread
// is idle for most of the time and widens to kWidest as it fills: one value for the process.
#pragma once

#include "base/clock.h"

namespace weir::net {

class MergeWindow {
  public:
    static constexpr Millis kWidest{100};
    static constexpr double kWiden = 0.35;  // busier than this: the window grows
    static constexpr double kNarrow =
        0.20;  // idler than this: it shrinks; between the two it stays
    static constexpr Millis kPeriod{100};

    Millis window() const { return window_; }

    // Called by the pumps at each pass; looks at the busy share once per period.
    template <typename BusyShare>
    void update(MonoTime now, BusyShare&& busy_share) {
        if (now >= next_) {
            next_ = now + kPeriod;
            adapt(busy_share());
        }
    }

    // One step; `busy` is the share of time spent working, 0 to 1.
    void adapt(double busy);

  private:
    Millis window_{0};
    MonoTime next_{};
};

}  // namespace weir::net
