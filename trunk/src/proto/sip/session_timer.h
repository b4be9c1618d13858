// Session timers (RFC 4028): who refreshes a call and when it has died. Pure; the call sends what
// is due.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "proto/http/fields.h"
#include "proto/sip/header_values.h"

namespace weir::sip {

// What the one who is asked makes of a request (§9).
struct SessionAnswer {
    bool too_small = false;  // answer 422 with Min-SE
    SessionExpires expires;  // of the 2xx
    bool require = false;    // the 2xx has Require: timer
};

SessionAnswer answer_session(const http::Fields& request, Seconds wanted, Seconds minimum);

class SessionTimer {
  public:
    enum class Due : uint8_t { kNothing, kRefresh, kExpired };

    // From a 2xx that was sent or came. `we_refresh`: the role that was agreed on.
    void start(MonoTime now, uint32_t seconds, bool we_refresh);

    void stop() { *this = SessionTimer(); }

    bool running() const { return expires_at_.has_value(); }

    // kRefresh comes once for each start(); what the refresh brings starts it again.
    Due due(MonoTime now);

    std::optional<MonoTime> next() const { return refresh_at_ ? refresh_at_ : expires_at_; }

    // For the field of a refresh.
    uint32_t seconds() const { return seconds_; }

  private:
    uint32_t seconds_ = 0;
    std::optional<MonoTime> refresh_at_;
    std::optional<MonoTime> expires_at_;
};

}  // namespace weir::sip
