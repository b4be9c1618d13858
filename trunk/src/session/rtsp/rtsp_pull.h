// Brings a stream from a camera or another server by RTSP and publishes it here: `source
// rtsp://...`.
//
// The conversation runs in the source's coroutine. Then media is read in the reactor's turn, over
// the connection, by UDP or from a multicast group, and the coroutine sleeps until something is
// due.
#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "net/source/source_run.h"

namespace weir::net {
struct SourceUrl;
}

namespace weir::session {

class RtspPull final : public net::SourceProtocol {
  public:
    // With `transport auto`: no packet by UDP for so long after PLAY means that none will come.
    static constexpr Millis kUdpPatience{4'000};
    // Then TCP is asked for at once, for so long.
    static constexpr Seconds kUdpMistrust{600};
    static constexpr size_t kMaxMistrusted = 1'000;  // servers that are remembered

    // The other server's error when it refuses, kTimeout when it is silent, kClosed when its stream
    // ends.
    Error run(net::SourceRun& run) override;

    // ---- for runs ----

    void note_udp_fails(const net::SourceUrl& url, MonoTime now);
    bool mistrusts_udp(const net::SourceUrl& url, MonoTime now) const;

  private:
    std::map<std::string, MonoTime> mistrusted_;  // servers, until when
};

}  // namespace weir::session
