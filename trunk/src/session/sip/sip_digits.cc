#include "session/sip/sip_digits.h"

#include <algorithm>

namespace weir::session {

std::optional<sip::InfoDigit> SipDigits::poll(MonoTime now) {
    if (line_.empty() || now < next_) {
        return std::nullopt;
    }
    const sip::InfoDigit digit = line_.front();
    line_.erase(line_.begin());
    next_ = now + digit.duration + kBetween;
    return digit;
}

bool SipDigits::take(MonoTime now) {
    constexpr Micros kPerToken = Micros(1'000'000 / kMaxPerSecond);
    const int64_t earned = (now - refilled_) / kPerToken;
    if (earned >= kMaxAtOnce) {
        tokens_ = kMaxAtOnce;
        refilled_ = now;
    } else if (earned > 0) {
        tokens_ = std::min(kMaxAtOnce, tokens_ + static_cast<uint32_t>(earned));
        refilled_ += earned * kPerToken;
    }
    if (tokens_ == 0) {
        return false;
    }
    tokens_--;
    return true;
}

}  // namespace weir::session
