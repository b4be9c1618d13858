#include "proto/rtp/remb_estimator.h"

#include <algorithm>

#include "proto/rtp/extensions.h"

namespace weir::rtp {
namespace {

constexpr Micros kRtt = Millis(100);  // not known here; it only spaces reductions
constexpr int64_t kFallPercent = 97;  // a smaller fall waits for the next message
constexpr int64_t kHalfRangeUs = static_cast<int64_t>(kAbsoluteSendTimeRangeUs / 2);

}  // namespace

void RembEstimator::on_packet(MonoTime now,
                              std::optional<uint32_t> absolute_send_time,
                              size_t bytes) {
    arriving_.add(Micros(now.time_since_epoch()), bytes);
    if (absolute_send_time) {
        if (last_send_time_) {
            int64_t step = absolute_send_time_us(*absolute_send_time) -
                           absolute_send_time_us(*last_send_time_);
            if (step < -kHalfRangeUs) {
                step += static_cast<int64_t>(kAbsoluteSendTimeRangeUs);
            } else if (step > kHalfRangeUs) {
                step -= static_cast<int64_t>(kAbsoluteSendTimeRangeUs);
            }
            sent_us_ += step;
        }
        last_send_time_ = absolute_send_time;
        trend_.on_packet(Micros(sent_us_), Micros(now.time_since_epoch()));
    }
    const bool over = trend_.load() == PathLoad::kOver;
    if (!updated_ || over || now - *updated_ >= kUpdateInterval) {
        updated_ = now;
        delay_.update(now, trend_.load(), arriving_.bps(), kRtt);
    }
}

std::optional<MonoTime> RembEstimator::next_timeout() const {
    if (!updated_) {
        return std::nullopt;
    }
    if (!told_ || delay_.bps() * 100 < told_bps_ * kFallPercent) {
        return *updated_;
    }
    return *told_ + kInterval;
}

std::optional<int64_t> RembEstimator::poll(MonoTime now) {
    if (const std::optional<MonoTime> due = next_timeout(); !due || *due > now) {
        return std::nullopt;
    }
    told_ = now;
    told_bps_ = delay_.bps();
    return told_bps_;
}

}  // namespace weir::rtp
