// Turns what is known of a path into a rate (draft-ietf-rmcat-gcc-02): RateMeter measures what
// arrives, DelayRate follows the delay (§5.5), LossRate the loss (§6). Arithmetic only; the clock
// is the caller's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "proto/rtp/delay_trend.h"

namespace weir::rtp {

struct RateLimits {
    int64_t min_bps = 100'000;
    int64_t start_bps = 2'000'000;
    int64_t max_bps = 100'000'000;
};

// Bits a second over the last half second (§5.5: between 0.5 and 1 s).
class RateMeter {
  public:
    // `at`: on any clock that rises, except for small steps back.
    void add(Micros at, size_t bytes);

    // Nothing until there is a quarter of a second of it; it begins again after two seconds of
    // nothing.
    std::optional<int64_t> bps() const;

    void reset() { started_ = false; }

  private:
    static constexpr size_t kSlots = 10;
    static constexpr Micros kSlot = Millis(50);

    std::array<uint32_t, kSlots> bytes_{};
    int64_t slot_ = 0;  // that is filled now
    Micros since_{};    // of the first packet
    Micros latest_{};
    bool started_ = false;
};

// The rate that keeps queues empty.
class DelayRate {
  public:
    explicit DelayRate(const RateLimits& limits) : limits_(limits), bps_(limits.start_bps) {}

    // `arriving_bps`: measured; nothing when too little was sent to know.
    void update(MonoTime now, PathLoad load, std::optional<int64_t> arriving_bps, Micros rtt);

    void raise(int64_t bps) { bps_ = std::clamp(bps, bps_, std::max(bps_, limits_.max_bps)); }

    int64_t bps() const { return bps_; }

  private:
    void decrease(MonoTime now, int64_t arriving_bps, Micros rtt);
    void increase(Micros elapsed, std::optional<int64_t> arriving_bps, Micros rtt);
    bool near_limit(int64_t arriving_bps) const;
    void note_limit(int64_t arriving_bps);

    RateLimits limits_;
    int64_t bps_;
    bool hold_ = false;
    std::optional<MonoTime> updated_;
    std::optional<MonoTime> decreased_;
    // What arrived when the path was full, in kbit/s: mean and relative variance (§5.5).
    double limit_kbps_ = 0;  // 0: not known
    double limit_variance_ = 0.4;
};

// The rate that keeps loss low.
//
// Deviation: the draft goes on reducing for as long as more than a tenth is lost. On a path that
// loses whatever is sent (radio) that ends at nothing. So when less was sent and less arrived in
// the same measure, what is lost is taken for the path's own and subtracted from then on; behind a
// bottleneck as much arrives as before.
class LossRate {
  public:
    explicit LossRate(const RateLimits& limits) : limits_(limits), bps_(limits.start_bps) {}

    void add(size_t received, size_t lost) {
        received_ += received;
        lost_ += lost;
    }

    // `other_bps`: the other half's rate, which this one does not outgrow by much.
    void update(MonoTime now, int64_t other_bps);

    void raise(int64_t bps) { bps_ = std::clamp(bps, bps_, std::max(bps_, limits_.max_bps)); }

    int64_t bps() const { return bps_; }

    // Lost of what was sent, in the last interval.
    double loss() const { return loss_; }

    // The share of it that does not depend on the rate.
    double own_loss() const { return own_loss_; }

  private:
    // Packets a second.
    struct Flow {
        double sent = 0;
        double arrived = 0;
    };

    void reduce(double excess, const Flow& flow);

    RateLimits limits_;
    int64_t bps_;
    size_t received_ = 0;
    size_t lost_ = 0;
    double loss_ = 0;
    double own_loss_ = 0;
    std::optional<MonoTime> updated_;
    bool reducing_ = false;
    int64_t bps_before_ = 0;  // before this row of reductions
    Flow flow_before_;
};

}  // namespace weir::rtp
