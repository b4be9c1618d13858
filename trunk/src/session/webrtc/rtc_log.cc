#include "session/webrtc/rtc_log.h"

#include <fmt/format.h>

namespace weir::session {

RtcFigures RtcFigures::of(const RtcServer& rtc) {
    const io::UdpStats udp = rtc.transport().udp_stats();
    RtcFigures figures;
    figures.sessions = rtc.sessions();
    figures.sessions_made = rtc.stats().sessions_made;
    figures.received = udp.received;
    figures.sent = udp.sent;
    figures.kernel_drops = udp.kernel_drops;
    figures.app_drops = rtc.stats().dropped() + udp.oversized;
    figures.send_drops = udp.send_refused;
    return figures;
}

std::optional<std::string> RtcLog::line(const RtcFigures& now) {
    const uint64_t kernel = now.kernel_drops - last_.kernel_drops;
    const uint64_t app = now.app_drops - last_.app_drops;
    const uint64_t send = now.send_drops - last_.send_drops;
    const bool changed = now.sessions != last_.sessions || now.sessions_made != last_.sessions_made;
    dropped_ = kernel + app + send > 0;
    if (!changed && !dropped_) {
        return std::nullopt;
    }
    std::string text = fmt::format(
        "rtc sessions={} new={} received={} sent={} kernel_drops={} app_drops={} send_drops={}",
        now.sessions, now.sessions_made - last_.sessions_made, now.received - last_.received,
        now.sent - last_.sent, kernel, app, send);
    if (kernel > 0) {
        text += " (the kernel's receive buffer was full: doc/performance.md)";
    }
    last_ = now;
    return text;
}

}  // namespace weir::session
