// Calls of other servers by SRT: a source (srt://HOST:PORT/APP/STREAM) and a forward.
#pragma once

#include "io/srt/srt_types.h"
#include "net/source/source_run.h"
#include "proto/srt/stream_id.h"

namespace weir::net {
struct SourceUrl;
}

namespace weir::session {

class SrtServer;

// What a URL says of the call: streamid (else it is made of the path and the mode), passphrase,
// pbkeylen, latency (ms), key or token. kMalformed: a value that is not possible; the message
// holds none of it.
Result<io::SrtOptions> srt_options_of(const net::SourceUrl& url, srt::StreamMode mode);

// Brings a stream from another server: `source srt://...`.
class SrtPull final : public net::SourceProtocol {
  public:
    // `server`: whose engine calls; must outlive this.
    explicit SrtPull(SrtServer& server) : server_(server) {}

    // kUnsupported: no SRT here, or what came is no transport stream; kDenied, kTimeout, kClosed.
    Error run(net::SourceRun& run) override;

  private:
    SrtServer& server_;
};

// Publishes a stream of this server on another one: `forward srt://...`.
class SrtForward final : public net::SourceProtocol {
  public:
    explicit SrtForward(SrtServer& server) : server_(server) {}

    // The same errors; kLimit: the other side is too slow.
    Error run(net::SourceRun& run) override;

  private:
    SrtServer& server_;
};

}  // namespace weir::session
