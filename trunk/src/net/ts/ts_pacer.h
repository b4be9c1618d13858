// TsPacer: when each packet of a transport stream has to be sent, so that it arrives as its clock
// (PCR, ISO/IEC 13818-1 §2.4.2) says: between two clock references packets go out evenly. Pure;
// time is a parameter.
//
// Frames come all at once, and a receiver of multicast has little memory for that. Costs a delay of
// kDelay. Where the clock jumps or stands still, the pace begins anew. More than kMaxBytes at once
// are sent without waiting.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"

namespace weir::net {

class TsPacer {
  public:
    static constexpr Millis kDelay{100};
    static constexpr Millis kMaxStep{500};  // of the clock, between two references
    static constexpr size_t kMaxBytes = 4 * 1024 * 1024;

    // The next packets, whole ones.
    void feed(MonoTime now, ByteSpan packets);

    // Moves up to `most` packets that are due to `out`, only if there are so many. False: nothing.
    bool next(MonoTime now, size_t most, Bytes& out);

    // When the packet is due that stands first; none: not known yet, or there is none.
    std::optional<MonoTime> next_time() const;

    // Times that the pace began anew.
    uint64_t restarts() const { return restarts_; }

    size_t bytes() const { return bytes_.size() - begin_; }

  private:
    // Packets from one clock reference to the next.
    struct Span {
        size_t packets = 0;
        size_t sent = 0;
        MonoTime begin{};
        Micros length{0};

        MonoTime due(size_t packet) const {
            return begin + length * static_cast<int64_t>(packet) / static_cast<int64_t>(packets);
        }
    };

    void take_clock(MonoTime now, uint64_t pcr);
    void close(MonoTime begin, Micros length);
    size_t count_due(MonoTime now, size_t most) const;

    Bytes bytes_;
    size_t begin_ = 0;               // of what was not given yet
    std::deque<Span> spans_;         // those whose times are known
    size_t open_ = 0;                // packets behind them
    std::optional<uint64_t> clock_;  // newest reference, in 27 MHz
    uint16_t clock_pid_ = 0;
    MonoTime clock_time_{};  // when its packet is due
    uint64_t restarts_ = 0;
};

}  // namespace weir::net
