// Sends a stream to a multicast group as a transport stream (`multicast_out`), at the pace of its
// clock (net/ts/ts_pacer.h): in plain datagrams (udp://) or in RTP (rtp://, RFC 2250).
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "net/services.h"
#include "net/source/source_run.h"

namespace weir::session {

class GroupForward final : public net::SourceProtocol {
  public:
    static constexpr size_t kPacketsPerDatagram = 7;  // 1,316 bytes, as everybody sends them
    static constexpr Millis kTick{2};                 // datagrams are due to that

    explicit GroupForward(const net::Services& services) : services_(services) {}

    // kNotFound: no such interface; kClosed: nobody publishes any more.
    Error run(net::SourceRun& run) override;

  private:
    net::Services services_;
};

}  // namespace weir::session
