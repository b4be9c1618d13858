// TlsAcceptor: the server's side of TLS handshakes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "io/signal.h"

namespace weir::io {

class Deadline;
class TcpStream;
class TlsChannel;  // private to io/
class TlsContext;
class WorkerPool;

struct TlsServerStats {
    uint64_t handshakes = 0;  // that succeeded
    uint64_t resumed = 0;     // of those, by a ticket of an earlier one
    uint64_t failed = 0;      // refused by either side, or unreadable
    uint64_t closed = 0;      // the peer went before the end
    uint64_t timeouts = 0;
    uint64_t not_tls = 0;  // a peer that does not speak TLS
    uint64_t ongoing = 0;
};

// Handshakes of accepted connections. The arithmetic of one (about a millisecond with an RSA key)
// runs on worker threads, so that a flood of handshakes costs media nothing but the cores it uses;
// so many wait there at once, and the others for their turn.
class TlsAcceptor {
  public:
    static constexpr size_t kMaxOnWorkers = 64;
    // What a client may send before its handshake is done.
    static constexpr size_t kMaxHandshakeBytes = 32 * 1024;

    // `workers`: for this alone, since their threads give way to all others; null: all on the
    // calling thread. Must outlive this.
    explicit TlsAcceptor(WorkerPool* workers) : workers_(workers) {}

    TlsAcceptor(const TlsAcceptor&) = delete;
    TlsAcceptor& operator=(const TlsAcceptor&) = delete;

    // Yields. kTimeout, kInterrupted, kClosed, kMalformed (no TLS: HTTP is told so in words first),
    // kDenied (refused by us or by the peer: the message says why).
    Error accept(TcpStream& stream, std::shared_ptr<const TlsContext> context, Deadline deadline);

    void set_workers(WorkerPool* workers) { workers_ = workers; }

    const TlsServerStats& stats() const { return stats_; }

  private:
    Error shake(TcpStream& stream, const TlsContext& context, Deadline deadline);
    Result<bool> step(TlsChannel& channel, Deadline deadline);

    WorkerPool* workers_;
    size_t on_workers_ = 0;
    Signal turn_;
    TlsServerStats stats_;
};

}  // namespace weir::io
