#include "proto/rtp/twcc_receiver.h"

#include <algorithm>
#include <span>

namespace weir::rtp {
namespace {

bool is_before(const rtcp::Arrival& arrival, int64_t sequence) {
    return arrival.sequence < sequence;
}

}  // namespace

void TwccReceiver::on_packet(MonoTime now, uint16_t sequence16, uint32_t media_ssrc) {
    const int64_t sequence = unwrapper_.peek(sequence16);
    if (const auto highest = unwrapper_.highest(); highest && sequence < *highest - kMaxLate) {
        return;
    }
    unwrapper_.unwrap(sequence16);
    const rtcp::Arrival arrival{sequence, now.time_since_epoch().count()};
    if (arrivals_.empty() || arrivals_.back().sequence < sequence) {
        arrivals_.push_back(arrival);
    } else {
        const auto at = std::lower_bound(arrivals_.begin(), arrivals_.end(), sequence, is_before);
        if (at->sequence == sequence) {
            return;
        }
        arrivals_.insert(at, arrival);
    }
    media_ssrc_ = media_ssrc;
    next_ = next_ ? std::min(*next_, sequence) : sequence;
    if (!first_pending_) {
        first_pending_ = now;
    }
    unreported_++;
    if (arrivals_.size() > kMaxArrivals) {
        arrivals_.erase(arrivals_.begin());
    }
}

std::optional<MonoTime> TwccReceiver::next_timeout() const {
    if (!first_pending_) {
        return std::nullopt;
    }
    return unreported_ >= kMaxUnreported ? *first_pending_ : *first_pending_ + kInterval;
}

bool TwccReceiver::poll_transmit(MonoTime now, uint32_t local_ssrc, rtcp::CompoundWriter& writer) {
    if (const std::optional<MonoTime> due = next_timeout(); !due || *due > now) {
        return false;
    }
    const auto first = std::lower_bound(arrivals_.begin(), arrivals_.end(), *next_, is_before);
    if (first == arrivals_.end()) {
        first_pending_.reset();  // what was to be told is too old
        unreported_ = 0;
        return false;
    }
    const int64_t before = first->sequence - *next_;
    const auto lost_before =
        static_cast<uint16_t>(before < rtcp::kMaxFeedbackStatuses / 2 ? before : 0);
    const size_t written = writer.transport_feedback(
        {local_ssrc, media_ssrc_}, count_, std::span(first, arrivals_.end()), lost_before);
    if (written == 0) {
        return false;
    }
    count_++;
    feedbacks_++;
    const auto end = first + static_cast<ptrdiff_t>(written);
    next_ = (end - 1)->sequence + 1;
    if (end == arrivals_.end()) {
        first_pending_.reset();
        unreported_ = 0;
        forget_old(now);
    }
    return true;
}

// All of it is reported.
void TwccReceiver::forget_old(MonoTime now) {
    const int64_t oldest = (now - kMemory).time_since_epoch().count();
    const auto end = std::find_if(arrivals_.begin(), arrivals_.end(),
                                  [oldest](const auto& a) { return a.time_us >= oldest; });
    arrivals_.erase(arrivals_.begin(), end);
}

}  // namespace weir::rtp
