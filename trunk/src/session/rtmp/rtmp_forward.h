// Publishes a stream of this server on another one by RTMP: `forward rtmp://...`.
//
// The conversation runs in the source's coroutine. Then the connection becomes a player of the
// stream's RTMP pump, with the same bytes, limits and rules for lag as every other.
#pragma once

#include "net/services.h"
#include "net/source/source_run.h"

namespace weir::session {

class RtmpServer;

class RtmpForward final : public net::SourceProtocol {
  public:
    // `server`: whose format (chunk size) is used; must outlive this.
    explicit RtmpForward(RtmpServer& server) : server_(server) {}

    // The other server's error when it refuses, kTimeout when it does not come up, kClosed when the
    // connection ends.
    Error run(net::SourceRun& run) override;

  private:
    RtmpServer& server_;
};

}  // namespace weir::session
