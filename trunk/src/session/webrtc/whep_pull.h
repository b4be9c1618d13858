// Plays a stream of another server by WebRTC and publishes it here: `source whep+http://...`, also
// whep+https://.
//
// WHEP (draft-ietf-wish-whep) is one POST of an offer; the answer says where media comes from. The
// run (whep_pull_run.h) does that in the source's coroutine.
#pragma once

#include <memory>
#include <optional>

#include "base/error.h"
#include "io/coroutine.h"
#include "io/worker_pool.h"
#include "net/source/source_run.h"
#include "net/source/source_url.h"
#include "proto/webrtc/client_transport.h"
#include "session/webrtc/rtc_ingest.h"

namespace weir::io {
class Deadline;
}

namespace weir::net {
class HttpClient;
}

namespace weir::session {

class WhepPull final : public net::SourceProtocol {
  public:
    static constexpr size_t kMaxRedirects = 5;
    // To end its session, a server is asked in a coroutine that outlives the run.
    static constexpr size_t kMaxFarewells = 16;  // at a time; over that, it finds out by itself
    static constexpr Millis kFarewellTimeout{2'000};
    static constexpr Millis kLastFarewell{200};  // when this server stops

    // `options`: for sources that begin from now on.
    explicit WhepPull(const RtcIngestOptions& options) : options_(options) {}

    ~WhepPull() override = default;  // after stop()

    void reconfigure(const RtcIngestOptions& options) { options_ = options; }

    // The server's error when it refuses, kTimeout when it is silent, kClosed when its stream ends.
    Error run(net::SourceRun& run) override;

    // Yields. Ends the words of farewell; no source runs any more.
    Error stop(io::Deadline deadline);

    // ---- for runs ----

    const RtcIngestOptions& options() const { return options_; }

    // kInternal: no certificate can be made.
    Result<const webrtc::ClientShared*> shared();

    // Never yields. Ends the session by DELETE, at that address of its server. `dialer` must
    // outlive this.
    void say_farewell(net::HttpClient& dialer,
                      net::SourceUrl session,
                      const NetAddress& server,
                      bool verify);

  private:
    RtcIngestOptions options_;
    std::unique_ptr<dtls::Identity> identity_;  // of the first run on
    srtp::ControlCipher control_;
    std::optional<webrtc::ClientShared> shared_;
    io::TaskGroup farewells_;
};

}  // namespace weir::session
