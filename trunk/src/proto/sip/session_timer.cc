#include "proto/sip/session_timer.h"

#include <algorithm>

namespace weir::sip {

SessionAnswer answer_session(const http::Fields& request, Seconds wanted, Seconds minimum) {
    using Refresher = SessionExpires::Refresher;
    const bool peer_can =
        has_option(request, "Supported", "timer") || has_option(request, "Require", "timer");
    const auto lowest = static_cast<uint32_t>(minimum.count());
    SessionAnswer out;
    out.expires.seconds = std::max(static_cast<uint32_t>(wanted.count()), lowest);
    out.expires.refresher = Refresher::kUas;
    const std::optional<SessionExpires> asked =
        SessionExpires::parse(request.get("Session-Expires").value_or(""));
    const uint32_t floor =
        std::max(parse_seconds(request.get("Min-SE").value_or("")).value_or(0), lowest);
    if (asked) {
        out.too_small = peer_can && asked->seconds < lowest;
        out.expires.seconds = std::max(std::min(asked->seconds, out.expires.seconds), floor);
        if (peer_can && asked->refresher != Refresher::kUas) {
            out.expires.refresher = Refresher::kUac;
        }
    } else {
        out.expires.seconds = std::max(out.expires.seconds, floor);
    }
    out.require = out.expires.refresher == Refresher::kUac;
    return out;
}

void SessionTimer::start(MonoTime now, uint32_t seconds, bool we_refresh) {
    const Seconds length(seconds);
    seconds_ = seconds;
    if (we_refresh) {
        refresh_at_ = now + length / 2;
        expires_at_ = now + length;
    } else {
        // §10: the other side has this long for a refresh that is late.
        refresh_at_.reset();
        expires_at_ = now + length - std::min(Seconds(32), length / 3);
    }
}

SessionTimer::Due SessionTimer::due(MonoTime now) {
    if (expires_at_ && *expires_at_ <= now) {
        stop();
        return Due::kExpired;
    }
    if (refresh_at_ && *refresh_at_ <= now) {
        refresh_at_.reset();
        return Due::kRefresh;
    }
    return Due::kNothing;
}

}  // namespace weir::sip
