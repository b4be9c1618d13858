#include "stream/publisher_clock.h"

#include <cstdlib>

#include "base/log.h"

namespace weir::stream {

PublisherClock::News PublisherClock::take(const Report& report, MonoTime now) {
    if (state_ == State::kNone || unsteady()) {
        return News::kNothing;
    }
    const State before = state_;
    const int64_t offset_us = report.publisher_us - report.time_us;
    ahead_us_ = report.publisher_us - report.server_us;
    state_ = report.publisher_us >= kEarliestUs && ahead_us_ <= kMaxAhead.count() ? State::kUsed
                                                                                  : State::kRefused;
    const bool stepped = before == State::kUsed && state_ == State::kUsed &&
                         std::abs(offset_us - offset_us_) >= kStep.count();
    offset_us_ = offset_us;
    if (state_ == before && !stepped) {
        return News::kNothing;
    }
    if (before != State::kAwaited) {
        note_change(now);
    }
    if (state_ == State::kRefused) {
        return News::kRefused;
    }
    return stepped ? News::kStepped : News::kBegun;
}

void PublisherClock::note_change(MonoTime now) {
    const bool quick = changes_ > 0 && now - changed_at_ < kSteadyFor;
    quick_changes_ = quick ? quick_changes_ + 1 : 1;
    changes_++;
    changed_at_ = now;
    if (unsteady()) {
        state_ = State::kRefused;
    }
}

void log_publisher_clock(const StreamKey& stream,
                         const PublisherClock& clock,
                         PublisherClock::News news) {
    using News = PublisherClock::News;
    if (news == News::kNothing) {
        return;
    }
    const std::string name = log::token(stream.to_string());
    const int64_t ahead_ms = clock.ahead_us() / 1000;
    if (news == News::kBegun) {
        log::info("publisher_clock stream={} ahead_ms={}: the publisher's clock is passed on", name,
                  ahead_ms);
    } else if (news == News::kStepped) {
        log::warn("publisher_clock stream={} ahead_ms={}: the publisher's clock has stepped", name,
                  ahead_ms);
    } else if (clock.unsteady()) {
        log::warn(
            "publisher_clock stream={} ahead_ms={}: the publisher's clock has stepped {} times "
            "within minutes; the server's is used until the stream is published again",
            name, ahead_ms, PublisherClock::kMaxQuickChanges);
    } else {
        log::warn(
            "publisher_clock stream={} ahead_ms={}: the publisher's clock cannot be right; the "
            "server's is used: set the time of the camera",
            name, ahead_ms);
    }
}

}  // namespace weir::stream
