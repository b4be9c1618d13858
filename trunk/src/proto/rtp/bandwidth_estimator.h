// How much a peer's path can carry, from the feedback about what was sent to it
// (draft-ietf-rmcat-gcc-02): the smallest of what delay (DelayTrend), loss and the peer itself
// (REMB) allow. For one player; about 700 bytes beside its TwccHistory.
//
// It sees no further than what is sent: a stream of 1 Mbit/s shows that 1.5 Mbit/s may pass, not
// that 5 do. Who wants to know more sends more (a burst of a GOP, or padding).
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/object_count.h"
#include "proto/rtcp/transport_feedback.h"
#include "proto/rtp/delay_trend.h"
#include "proto/rtp/rate_control.h"
#include "proto/rtp/twcc_history.h"

namespace weir::rtp {

class BandwidthEstimator final : private Counted<BandwidthEstimator> {
  public:
    static constexpr ObjectName kObjectName{"bandwidth_estimator", "webrtc"};

    // Without any feedback for so long the estimate shrinks by a fifth, and again each such time.
    static constexpr Micros kMaxSilence = Millis(1'500);

    explicit BandwidthEstimator(const RateLimits& limits);

    // Transport-wide feedback about packets in `history`.
    void on_feedback(MonoTime now,
                     TwccHistory& history,
                     const rtcp::TransportFeedbackView& feedback);

    // A receiver report, for peers without transport-wide feedback: what was lost of what was sent
    // since the report before. Loss is all that counts then.
    void on_loss_report(MonoTime now, size_t received, size_t lost);

    // REMB: what the peer says it can take. It holds until it says otherwise.
    void on_remote_limit(int64_t bits_per_second) { remote_bps_ = bits_per_second; }

    // The caller has sent at this rate for a while, and neither queues nor loss came of it: the
    // estimate is that at least. (It sees no further than what is sent, and grows slowly.)
    void on_carried(int64_t bits_per_second) {
        delay_.raise(bits_per_second);
        loss_.raise(bits_per_second);
    }

    void set_rtt(Micros rtt) { rtt_ = rtt; }

    // `outstanding`: something was sent that no feedback speaks of (TwccHistory::has_unanswered).
    void handle_timeout(MonoTime now, bool outstanding);

    // When handle_timeout() has something to do; nothing before the first feedback.
    std::optional<MonoTime> next_timeout() const;

    int64_t bps() const;

    PathLoad load() const { return trend_.load(); }

    double loss() const { return loss_.loss(); }

    Micros rtt() const { return rtt_; }

    // What arrived lately; nothing when that is not known.
    std::optional<int64_t> arriving_bps() const { return arriving_.bps(); }

  private:
    RateLimits limits_;
    DelayTrend trend_;
    RateMeter arriving_;
    DelayRate delay_;
    LossRate loss_;
    std::optional<int64_t> remote_bps_;
    std::optional<MonoTime> heard_;  // of the last feedback, or of the last cut without one
    bool has_delays_ = false;
    double silence_factor_ = 1;
    Micros rtt_ = Millis(100);
};

}  // namespace weir::rtp
