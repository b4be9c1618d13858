// When to ask a sender for a key frame (PLI or FIR): at once when one is needed, again when it does
// not come, never more often than the sender can take, and from time to time where the stream's
// players want short GOPs. A machine that only says when; the owner writes the packet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace weir::rtp {

struct KeyFrameOptions {
    Micros min_interval = Millis(500);  // between two requests
    Micros max_interval = Seconds(4);   // of requests that stay unanswered: pauses double up to it
    Micros period = Micros(0);          // ask when the last key frame is so old; 0: never
};

class KeyFrameRequester {
  public:
    explicit KeyFrameRequester(const KeyFrameOptions& options)
        : options_(options), pause_(options.min_interval) {}

    // Something needs a key frame: a loss that was not recovered, a new player. Forgotten by the
    // next key frame.
    void request() { wanted_ = true; }

    // A whole key frame came.
    void on_key_frame(MonoTime now) {
        wanted_ = false;
        unanswered_ = false;
        pause_ = options_.min_interval;
        had_key_ = true;
        last_key_ = now;
    }

    // True when a request is to be sent now; it counts as sent.
    bool poll(MonoTime now) {
        if (const std::optional<MonoTime> due = next_timeout(); !due || *due > now) {
            return false;
        }
        if (unanswered_) {
            pause_ = std::min(pause_ * 2, options_.max_interval);
        }
        wanted_ = true;  // until it comes
        unanswered_ = true;
        last_request_ = now;
        requests_++;
        return true;
    }

    // When poll() is true; nothing while no player needs a key frame.
    std::optional<MonoTime> next_timeout() const {
        const MonoTime earliest = requests_ > 0 ? last_request_ + pause_ : MonoTime{};
        if (wanted_) {
            return earliest;
        }
        if (options_.period > Micros(0) && had_key_) {
            return std::max(earliest, last_key_ + options_.period);
        }
        return std::nullopt;
    }

    bool wanted() const { return wanted_; }

    uint64_t requests() const { return requests_; }

  private:
    KeyFrameOptions options_;
    Micros pause_;
    bool wanted_ = false;
    bool unanswered_ = false;
    MonoTime last_request_{};
    bool had_key_ = false;
    MonoTime last_key_{};
    uint64_t requests_ = 0;
};

}  // namespace weir::rtp
