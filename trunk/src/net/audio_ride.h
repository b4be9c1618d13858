// AudioRide: audio leaves with the next video frame (mw_latency auto).
//
// A write costs the same whatever it carries (doc/adr/0005-fan-out.md), and a stream has about as
// many audio messages as video frames. So an audio message makes no player due while video comes:
// it leaves with the next frame, or when it has waited for kLongest. Of one wire log.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "stream/wire_log.h"

namespace weir::net {

class AudioRide {
  public:
    static constexpr Millis kLongest{50};
    // Video has stopped when audio is further ahead of its newest frame: nothing waits for it.
    static constexpr int64_t kVideoGoneMs = 200;

    // What the newest entry of the log brings about.
    enum class Verdict : uint8_t {
        kDue,     // players are due, by it or by what waited too long
        kBegins,  // it waits; end() is to be called kLongest from now, if it still does
        kWaits,   // with others
    };

    Verdict take(const stream::WireLog& log, MonoTime now) {
        if (!log.newest_rides() || log.ms_of_riding() > kVideoGoneMs ||
            (waits() && now - since_ >= kLongest)) {
            end();
            return Verdict::kDue;
        }
        if (waits()) {
            return Verdict::kWaits;
        }
        from_ = log.newest_begin();
        since_ = now;
        return Verdict::kBegins;
    }

    // What waited is due now.
    void end() { from_ = kNone; }

    bool waits() const { return from_ != kNone; }

    // Since when the first message waits.
    MonoTime since() const { return since_; }

    // Players whose cursor is before this log offset are due.
    uint64_t due_head(const stream::WireLog& log) const { return waits() ? from_ : log.head(); }

  private:
    static constexpr uint64_t kNone = UINT64_MAX;

    uint64_t from_ = kNone;
    MonoTime since_{};
};

}  // namespace weir::net
