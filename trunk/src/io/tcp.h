// TCP: listener, stream. Non-blocking sockets in the reactor; blocking style for
// coroutines, and plain non-blocking calls plus a handler for connections that only flow (the pump
// of net/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <sys/uio.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/object_count.h"
#include "io/io_result.h"
#include "io/reactor.h"
#include "io/socket_address.h"

namespace weir::io {

class CoroutineState;  // private to io/
class Deadline;
class OwnFd;
class TlsChannel;  // private to io/
struct StreamOptions;

// What the kernel says of a connection (TCP_INFO): one system call.
struct TcpFacts {
    Micros rtt{0};  // smoothed
    Micros rtt_variation{0};
    uint32_t retransmits = 0;          // segments, since the connection began
    uint64_t retransmitted_bytes = 0;  // 0 with kernels that do not say
    uint32_t unacknowledged = 0;       // segments on their way
    uint32_t unsent_bytes = 0;         // in the send buffer and never sent yet
    uint32_t window_segments = 0;      // of congestion control
    uint64_t delivery_bps = 0;         // what the path took lately; 0: not known
};

// A conversation that another process had, up to here: whoever takes it over hears it again.
struct Replay {
    Bytes answered;  // the peer has the answers to it: what is written meanwhile is dropped
    Bytes heard;     // it has not
    size_t read = 0;
};

// One connection, plain or encrypted (io/tls.h). Owned by its session. TCP_NODELAY and keep-alive
// are set.
class TcpStream final : private EventHandler, private Counted<TcpStream> {
  public:
    static constexpr ObjectName kObjectName{"tcp_connection", "network"};
    static constexpr size_t kMaxWriteParts = 16;

    ~TcpStream();  // closes; no coroutine may wait on it
    TcpStream(const TcpStream&) = delete;
    TcpStream& operator=(const TcpStream&) = delete;

    // Yields. `from` may bind the local address (load client). kTimeout, kSystem ("connect to
    // ADDRESS: why"), kInterrupted.
    static Result<std::unique_ptr<TcpStream>> connect(const SocketAddress& to,
                                                      Deadline deadline,
                                                      const SocketAddress* from = nullptr);

    // Takes ownership of a connected socket.
    static Result<std::unique_ptr<TcpStream>> adopt(int fd, const SocketAddress& peer);

    // Two streams, each the other end of the other, without a network between them: for a
    // connection whose bytes come by another one. `peer`: who the peer of both is said to be.
    struct Pair;
    static Result<Pair> pair(const SocketAddress& peer);

    // Before anything is read or written: the next reads give these bytes, then those of the peer.
    // What is written is dropped until one of `heard`, or behind it, has been read.
    void replay(Replay what);

    bool replays() const { return replay_ != nullptr; }

    void apply(const StreamOptions& options);

    // Never yields. Nothing for a connection that is closed here.
    std::optional<TcpFacts> facts() const;

    // Who the peer is to rules, the API and logs: the other end of the connection, or the client
    // behind a proxy that was believed (set_peer).
    const SocketAddress& peer() const { return peer_; }

    void set_peer(const SocketAddress& peer) { peer_ = peer; }

    // The other end of the connection itself, also when it is a proxy; for diagnosis.
    SocketAddress connection_peer() const;

    SocketAddress local() const;

    bool encrypted() const { return tls_ != nullptr; }

    // The other end is a process of this machine, by a unix socket.
    bool by_unix_socket() const;

    int fd() const { return fd_; }

    // One coroutine at a time may read, and one write. Data that is there is taken even when the
    // deadline has passed. A coroutine that never has to wait yields now and then.

    // Yields. Reads at least one byte into `out`, which must not be empty. kClosed at the peer's
    // FIN or reset, or after shutdown() or close(); kTimeout, kInterrupted, kSystem.
    Result<size_t> read_some(std::span<uint8_t> out, Deadline deadline);

    // Yields. Until a read would not block (or the peer closed). kTimeout, kInterrupted, kClosed
    // when closed here.
    Error wait_readable(Deadline deadline);
    Error wait_writable(Deadline deadline);

    // Yields. Fills `out`; kClosed when the peer ends before that.
    Error read_full(std::span<uint8_t> out, Deadline deadline);

    // Yields. Writes all of it; what was written before an error is not told. kClosed, kTimeout,
    // kInterrupted, kSystem.
    Error write_all(ByteSpan data, Deadline deadline);

    // The same of several parts, one behind the other, in as few system calls as they fit into (up
    // to kMaxWriteParts in one). `parts` are used up.
    Error write_all(std::span<iovec> parts, Deadline deadline);

    // Never yields. kWouldBlock clears the readiness; a partial write counts as kDone with fewer
    // bytes (and the stream then no longer counts as writable, since the buffer is full). An
    // encrypted stream may have taken all and yet not be writable: the rest of a record waits in it
    // for the next writable edge, which it uses itself.
    IoResult try_read(std::span<uint8_t> out);
    IoResult try_write(ByteSpan data);
    IoResult try_writev(std::span<const iovec> parts);

    // The same from a file, without a copy (sendfile). Never of an encrypted stream.
    IoResult try_send_file(int file, uint64_t offset, size_t size);

    // What the last edge said, not yet consumed by an EAGAIN.
    bool readable() const { return readable_; }

    bool writable() const { return writable_; }

    // The peer has sent its FIN, or the connection is broken. Bytes may still be waiting to be
    // read.
    bool hangup() const { return hangup_; }

    // Hand-over: from now on edges go to `handler` (after the stream has updated its own flags),
    // which may destroy the stream; nullptr gives them back to the coroutine calls. The caller must
    // look at readable(), writable() and hangup() once after setting it: those edges are past.
    void set_handler(EventHandler* handler) { handler_ = handler; }

    // The reactor forgets the socket, for an owner that looks at it by a clock of its own with the
    // try_ calls; watch() makes it known again, and every edge comes again. kSystem.
    void unwatch() { registration_.remove(); }

    Error watch();

    // Never yields. Ends our direction: the peer sees the end of what was written, and may still
    // send. False when there is no connection any more.
    bool end_writing();

    // For the handshakes of io/tls.h, when they are done: from now on all goes through the channel.
    void encrypt(std::unique_ptr<TlsChannel> channel);

    // Ends both directions now; waiting coroutines get kClosed. close() also frees the descriptor
    // (idempotent).
    void shutdown();
    void close();

  private:
    TcpStream(int fd, const SocketAddress& peer);

    void on_ready(uint8_t ready) override;
    Error wait(const bool& ready, CoroutineState*& waiter, Deadline deadline, const char* what);
    IoResult finish_write(ssize_t written, size_t wanted);
    IoResult read_again(std::span<uint8_t> out);
    bool drops_answers() const;
    void wake_waiters();

    int fd_;
    bool readable_ = true;
    bool writable_ = true;
    bool hangup_ = false;
    bool closed_ = false;
    CoroutineState* reader_ = nullptr;  // the parked coroutine, if any
    CoroutineState* writer_ = nullptr;
    EventHandler* handler_ = nullptr;
    Registration registration_;
    std::unique_ptr<TlsChannel> tls_;  // of an encrypted stream
    std::unique_ptr<Replay> replay_;
    SocketAddress peer_;
};

struct TcpStream::Pair {
    std::unique_ptr<TcpStream> one;
    std::unique_ptr<TcpStream> other;
};

// Accepts until EAGAIN. Out of descriptors: a reserve descriptor takes and closes the pending
// connection (the peer sees a close, not a hang), a throttled warning is logged, and accepting goes
// on by a timer.
class TcpListener {
  public:
    ~TcpListener();
    TcpListener(const TcpListener&) = delete;
    TcpListener& operator=(const TcpListener&) = delete;

    // A wildcard IPv6 address also takes IPv4. Port 0 picks one. In use: kBusy, and the message
    // names who holds the port
    // ("held by process 1234 (nginx)") where that can be found out.
    static Result<std::unique_ptr<TcpListener>> listen(const SocketAddress& address,
                                                       int backlog = 4096);

    // Takes ownership of a listening socket.
    static Result<std::unique_ptr<TcpListener>> adopt(OwnFd socket);

    SocketAddress local() const;

    // Yields. The next connection; kInterrupted after interrupt of the coroutine, kClosed after
    // close().
    Result<std::unique_ptr<TcpStream>> accept(Deadline deadline);

    // Yields. The next of those that wait in the kernel's queue already; kTimeout when none does.
    // Nobody may be in accept().
    Result<std::unique_ptr<TcpStream>> accept_waiting();

    void close();

  private:
    struct Impl;
    explicit TcpListener(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace weir::io
