// MergeWindow: how long a player's media may be held back so that several messages go out in one write (mw_latency).
//
// Writes are what fan-out costs (doc/adr/0005-fan-out.md). A fixed window is as configured. The automatic one is 0 while
// the media thread is idle for most of the time and widens to kWidest as it fills: one value for the process.
#pragma once

#include <optional>

#include "base/clock.h"

namespace weir::net {

class MergeWindow {
 public:
  static constexpr Millis kWidest{100};
  static constexpr double kWiden = 0.35;   // busier than this: the window grows
  static constexpr double kNarrow = 0.20;  // idler than this: it shrinks; between the two it stays
  static constexpr Millis kPeriod{100};

  // Without a value: automatic.
  explicit MergeWindow(std::optional<Millis> fixed) : fixed_(fixed), window_(fixed.value_or(Millis(0))) {}

  Millis window() const { return window_; }

  // Called by the pumps at each pass; looks at the busy share once per period.
  template <typename BusyShare>
  void update(MonoTime now, BusyShare&& busy_share) {
    if (!fixed_ && now >= next_) {
      next_ = now + kPeriod;
      adapt(busy_share());
    }
  }

  // One step of the automatic window; `busy` is the share of time spent working, 0 to 1.
  void adapt(double busy);

 private:
  std::optional<Millis> fixed_;
  Millis window_;
  MonoTime next_{};
};

}  // namespace weir::net
