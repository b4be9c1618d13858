// The periodic log line of WebRTC: sessions, and what was dropped by the kernel and by the server,
// each by itself. Nothing while nothing changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "session/webrtc/rtc_server.h"

namespace weir::session {

// What the line tells; counters since the start.
struct RtcFigures {
    uint64_t sessions = 0;
    uint64_t sessions_made = 0;
    uint64_t received = 0;
    uint64_t sent = 0;
    uint64_t kernel_drops = 0;
    uint64_t app_drops = 0;   // came, and were for nothing
    uint64_t send_drops = 0;  // the kernel did not take them

    static RtcFigures of(const RtcServer& rtc);
};

class RtcLog {
  public:
    // The line, when sessions came or went or something was dropped since the last one; drops are
    // those since then. To be asked no more often than every 10 s.
    std::optional<std::string> line(const RtcFigures& now);

    // Whether the line that line() gave says that something was dropped.
    bool dropped() const { return dropped_; }

  private:
    RtcFigures last_;
    bool dropped_ = false;
};

}  // namespace weir::session
