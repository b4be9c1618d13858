// PublisherClock: the wall clock of a stream's publisher, as the sender reports of an RTP publisher
// give it, related to the times of its packets. It decides whether that clock can be passed on to
// players. Pure.
//
//     refused   dates before 2001 (a camera without a battery starts in 1970 or 2000) and dates
//               more than a day ahead of the server's; a clock that steps again and again
//     a step    1 s or more from one report to the next: the new time counts, and players are told
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "media/timeline.h"
#include "stream/stream_key.h"

namespace weir::stream {

class PublisherClock {
  public:
    static constexpr int64_t kEarliestUs = 978'307'200'000'000;  // 2001-01-01
    static constexpr Micros kMaxAhead = Seconds(86'400);
    static constexpr Micros kStep = Seconds(1);
    // A change within this time after the one before; the third in a row ends the use of the clock.
    static constexpr Micros kSteadyFor = Seconds(60);
    static constexpr uint32_t kMaxQuickChanges = 3;
    // Senders report every 5 s, or up to 6.2 s apart (RFC 3550 §6.3.1).
    static constexpr Micros kMaxWait = Seconds(7);

    enum class State : uint8_t {
        kNone,     // not asked for, or the publisher has none
        kAwaited,  // no report yet
        kUsed,
        kRefused,
    };

    // What a report has changed.
    enum class News : uint8_t { kNothing, kBegun, kStepped, kRefused };

    struct Report {
        int64_t time_us = 0;       // of a packet, as the publisher's packets have it
        int64_t publisher_us = 0;  // the publisher's wall clock at that time, since 1970
        int64_t server_us = 0;     // the server's wall clock when that packet came
    };

    // The publisher will report; it began at that time.
    void await(MonoTime since) {
        state_ = State::kAwaited;
        awaited_since_ = since;
    }

    // The first report may still come, in less than kMaxWait.
    bool awaited(MonoTime now) const {
        return state_ == State::kAwaited && now - awaited_since_ < kMaxWait;
    }

    // Ignored before await(). `now`: monotonic time of the report.
    News take(const Report& report, MonoTime now);

    State state() const { return state_; }

    // The publisher's wall clock minus the time of its packets; nothing unless it is used.
    std::optional<int64_t> offset_us() const {
        return state_ == State::kUsed ? std::optional(offset_us_) : std::nullopt;
    }

    // The publisher's wall clock (microseconds since 1970) minus the time of presentation on the
    // timeline of its stream; nothing: the server's clock counts.
    std::optional<int64_t> wall_offset_us(const media::Timeline& timeline) const {
        const std::optional<int64_t> shift_ms = timeline.shift();
        return state_ == State::kUsed && shift_ms ? std::optional(offset_us_ - *shift_ms * 1000)
                                                  : std::nullopt;
    }

    // How far the publisher's clock is ahead of the server's, delivery included: negative when it
    // is behind. Of the newest report, also of one that was refused.
    int64_t ahead_us() const { return ahead_us_; }

    // Changes after the first report: steps, and from a refused clock to a used one or back.
    uint32_t changes() const { return changes_; }

    bool unsteady() const { return quick_changes_ >= kMaxQuickChanges; }

  private:
    void note_change(MonoTime now);

    State state_ = State::kNone;
    MonoTime awaited_since_{};
    int64_t offset_us_ = 0;
    int64_t ahead_us_ = 0;
    uint32_t changes_ = 0;
    uint32_t quick_changes_ = 0;
    MonoTime changed_at_{};
};

// For the operator, one line; nothing for kNothing.
void log_publisher_clock(const StreamKey& stream,
                         const PublisherClock& clock,
                         PublisherClock::News news);

}  // namespace weir::stream
