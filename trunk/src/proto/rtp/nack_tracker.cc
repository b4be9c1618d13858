#include "proto/rtp/nack_tracker.h"

#include <algorithm>

namespace weir::rtp {
namespace {

constexpr Micros kRequestSlack = Millis(5);  // for the sender to answer and for jitter
constexpr int kQuickRequests = 3;            // before the pauses grow

}  // namespace

bool NackTracker::add(int64_t from, int64_t to, MonoTime now) {
    if (to - from > static_cast<int64_t>(kMaxMissing - missing_.size())) {
        return false;
    }
    for (int64_t sequence = from; sequence < to; sequence++) {
        missing_.push_back({sequence, now, MonoTime{}, 0});
    }
    return true;
}

std::optional<NackTracker::Found> NackTracker::remove(int64_t sequence) {
    const auto at = std::lower_bound(
        missing_.begin(), missing_.end(), sequence,
        [](const Missing& missing, int64_t value) { return missing.sequence < value; });
    if (at == missing_.end() || at->sequence != sequence) {
        return std::nullopt;
    }
    const Found found{at->requests, at->since, at->asked};
    missing_.erase(at);
    return found;
}

void NackTracker::forget_before(int64_t sequence) {
    const auto end =
        std::find_if(missing_.begin(), missing_.end(),
                     [sequence](const Missing& missing) { return missing.sequence >= sequence; });
    missing_.erase(missing_.begin(), end);
}

std::optional<MonoTime> NackTracker::oldest() const {
    return missing_.empty() ? std::nullopt : std::optional(missing_.front().since);
}

MonoTime NackTracker::Missing::due(Micros rtt, Micros reorder_delay) const {
    if (requests == 0) {
        return since + reorder_delay;
    }
    const int pauses = 1 + std::max(0, requests - kQuickRequests);
    return asked + pauses * (rtt + rtt / 8 + kRequestSlack);
}

size_t NackTracker::take_due(MonoTime now,
                             Micros rtt,
                             Micros reorder_delay,
                             std::span<uint16_t> out) {
    size_t count = 0;
    for (Missing& missing : missing_) {
        if (count == out.size()) {
            break;
        }
        if (missing.requests < kMaxRequests && missing.due(rtt, reorder_delay) <= now) {
            missing.requests++;
            missing.asked = now;
            out[count++] = static_cast<uint16_t>(missing.sequence);
        }
    }
    requests_ += count;
    return count;
}

std::optional<MonoTime> NackTracker::next_due(Micros rtt, Micros reorder_delay) const {
    std::optional<MonoTime> earliest;
    for (const Missing& missing : missing_) {
        if (missing.requests < kMaxRequests) {
            const MonoTime due = missing.due(rtt, reorder_delay);
            earliest = earliest ? std::min(*earliest, due) : due;
        }
    }
    return earliest;
}

}  // namespace weir::rtp
