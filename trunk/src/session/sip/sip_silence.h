// When a phone that says nothing has gone: after `timeout`. One that need not send media is asked
// by SIP when half of that is over. Pure.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace weir::session {

class SipSilence {
  public:
    enum class Due : uint8_t {
        kNothing,
        kAsk,  // OPTIONS are to be sent: the answer counts
        kGone,
    };

    // `heard`: when something that counts came from the phone last. `asks`: answers by SIP count.
    Due look(MonoTime now, MonoTime heard, Millis timeout, bool asks) {
        if (now - heard > timeout) {
            return Due::kGone;
        }
        if (!asks || now - heard < timeout / 2 || now - asked_ < timeout / 4) {
            return Due::kNothing;
        }
        asked_ = now;
        return Due::kAsk;
    }

  private:
    MonoTime asked_{};
};

}  // namespace weir::session
