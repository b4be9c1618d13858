// The digits of a call that go by INFO, one after the other, and how many are taken of a phone that
// sends them so. Digits in RTP are proto/rtp/telephone_event.h. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "proto/sip/info_body.h"

namespace weir::session {

class SipDigits {
  public:
    static constexpr size_t kMaxInLine = 64;    // that wait to be sent
    static constexpr Millis kBetween{100};      // the end of one and the next
    static constexpr uint32_t kMaxAtOnce = 20;  // that are taken, as with RTP
    static constexpr uint32_t kMaxPerSecond = 20;

    // False, and nothing is in line, when there is no room.
    bool send(const sip::InfoDigit& digit) {
        if (line_.size() == kMaxInLine) {
            return false;
        }
        line_.push_back(digit);
        return true;
    }

    size_t room() const { return kMaxInLine - line_.size(); }

    // What is to be sent now.
    std::optional<sip::InfoDigit> poll(MonoTime now);

    // Whether a digit that has come counts; false: the phone sends them too fast.
    bool take(MonoTime now);

  private:
    std::vector<sip::InfoDigit> line_;  // few calls have one: no memory before
    MonoTime next_{};
    uint32_t tokens_ = kMaxAtOnce;
    MonoTime refilled_{};
};

}  // namespace weir::session
