// When how much may be sent, so that a frame does not hit a path as one burst. Arithmetic only: it
// holds no packets. 16 bytes a player.
//
// A sender asks may_send(), sends a whole batch (GSO) and says on_sent(); what the batch was over
// the budget is waited for. Unused time is saved up for no longer than kMaxSaved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace weir::rtp {

class Pacer {
  public:
    static constexpr Micros kMaxSaved = Millis(5);
    static constexpr int64_t kMinBps = 10'000;

    // The rate to pace at: more than the estimate (2.5 times is usual), so that pacing spreads
    // frames out without holding a stream back.
    explicit Pacer(int64_t bits_per_second) { set_rate(bits_per_second); }

    void set_rate(int64_t bits_per_second) { bps_ = std::max(bits_per_second, kMinBps); }

    int64_t rate() const { return bps_; }

    bool may_send(MonoTime now) const { return free_at_ <= now; }

    // When may_send() is true.
    MonoTime next_send() const { return free_at_; }

    void on_sent(MonoTime now, size_t bytes) {
        free_at_ = std::max(free_at_, now - kMaxSaved) +
                   Micros(static_cast<int64_t>(bytes) * 8'000'000 / bps_);
    }

    // How many bytes go out from now until `until`, at most; for the size of a batch.
    size_t budget(MonoTime now, MonoTime until) const {
        const Micros span = until - std::max(free_at_, now - kMaxSaved);
        return span <= Micros(0) ? 0 : static_cast<size_t>(span.count() * (bps_ / 8) / 1'000'000);
    }

  private:
    int64_t bps_ = kMinBps;
    MonoTime free_at_{};
};

}  // namespace weir::rtp
