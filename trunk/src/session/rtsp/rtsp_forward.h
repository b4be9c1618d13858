// Publishes a stream of this server on another one by RTSP: `forward rtsp://...`.
//
// The conversation (ANNOUNCE, SETUP, RECORD) runs in the source's coroutine. Then the connection
// becomes a player of the stream's RTSP pump, with the same bytes, limits and rules for lag as
// every other over TCP.
#pragma once

#include "net/services.h"
#include "net/source/source_run.h"

namespace weir::session {

class RtspServer;

class RtspForward final : public net::SourceProtocol {
  public:
    // `server`: whose formats are used; must outlive this.
    explicit RtspForward(RtspServer& server) : server_(server) {}

    // The other server's error when it refuses, kTimeout when it does not come up, kUnsupported
    // when RTSP carries nothing of the stream, kClosed when the connection ends.
    Error run(net::SourceRun& run) override;

  private:
    RtspServer& server_;
};

}  // namespace weir::session
