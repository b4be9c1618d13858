// TCP: addresses, listener, stream. Non-blocking sockets in the reactor; blocking style for coroutines, and plain
// non-blocking calls plus a handler for connections that only flow (the pump of net/).
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "io/coroutine.h"
#include "io/reactor.h"

namespace weir::io {

// An IPv4 or IPv6 address with port.
class SocketAddress {
 public:
  SocketAddress();

  // "1935", ":1935", "127.0.0.1:1935", "[::]:1935", "0.0.0.0:0". A bare port means every IPv6 and IPv4 address ("[::]").
  // Numeric hosts and "localhost" only: no DNS here.
  static Result<SocketAddress> parse(std::string_view text);

  static SocketAddress from_raw(const sockaddr* address, socklen_t size);

  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage_); }

  socklen_t raw_size() const { return size_; }

  uint16_t port() const;

  // Host only, "192.0.2.1" or "2001:db8::1"; an IPv4 peer of a dual-stack socket is shown as IPv4.
  std::string host() const;

  // "192.0.2.1:1935" or "[2001:db8::1]:1935".
  std::string to_string() const;

  bool is_loopback() const;  // 127.0.0.0/8, ::1, and the former mapped into IPv6

  bool is_any() const;

 private:
  sockaddr_storage storage_;
  socklen_t size_;
};

struct StreamOptions {
  int send_buffer_bytes = 0;    // SO_SNDBUF; 0 leaves the kernel's auto-tuning
  int notsent_lowat_bytes = 0;  // TCP_NOTSENT_LOWAT; 0 leaves it off
  Millis user_timeout{0};       // TCP_USER_TIMEOUT; 0 leaves it off
};

// Result of one non-blocking call.
enum class IoStatus : uint8_t { kDone, kWouldBlock, kClosed, kFailed };

struct IoResult {
  IoStatus status = IoStatus::kDone;
  size_t bytes = 0;       // kDone: more than 0
  int error_number = 0;   // kFailed
};

// One connection. Owned by its session. TCP_NODELAY and keep-alive are set.
class TcpStream final : private EventHandler {
 public:
  ~TcpStream();  // closes; nobody may wait on it
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  // Yields. `from` may bind the local address (load client). kTimeout, kSystem ("connect to ADDRESS: why"), kInterrupted.
  static Result<std::unique_ptr<TcpStream>> connect(const SocketAddress& to,
                                                    Deadline deadline,
                                                    const SocketAddress* from = nullptr);

  // Takes ownership of a connected socket.
  static Result<std::unique_ptr<TcpStream>> adopt(int fd, const SocketAddress& peer);

  void apply(const StreamOptions& options);

  const SocketAddress& peer() const { return peer_; }

  SocketAddress local() const;

  int fd() const { return fd_; }

  // Yields. Reads at least one byte. kClosed at the peer's FIN, kTimeout, kInterrupted, kSystem.
  Result<size_t> read_some(std::span<uint8_t> out, Deadline deadline);

  // Yields. Fills `out`; kClosed when the peer ends before that.
  Error read_full(std::span<uint8_t> out, Deadline deadline);

  // Yields. Writes all of it.
  Error write_all(ByteSpan data, Deadline deadline);

  // Never yields. kWouldBlock clears the readiness; a partial write counts as kDone with fewer bytes (and the stream
  // then no longer counts as writable, since the buffer is full).
  IoResult try_read(std::span<uint8_t> out);
  IoResult try_write(ByteSpan data);
  IoResult try_writev(std::span<const iovec> parts);

  // What the last edge said, not yet consumed by an EAGAIN.
  bool readable() const { return readable_; }

  bool writable() const { return writable_; }

  // Hand-over: from now on edges go to `handler` (after the stream has updated its own flags); nullptr gives them back
  // to the coroutine calls. The caller must look at readable()/writable() once after setting it: those edges are past.
  void set_handler(EventHandler* handler) { handler_ = handler; }

  // Ends both directions now; waiting coroutines get kClosed. close() also frees the descriptor (idempotent).
  void shutdown();
  void close();

 private:
  TcpStream(int fd, const SocketAddress& peer);

  void on_ready(uint8_t ready) override;
  Error wait_readable(Deadline deadline);
  Error wait_writable(Deadline deadline);

  int fd_;
  bool readable_ = true;
  bool writable_ = true;
  bool hangup_ = false;
  bool closed_ = false;
  void* reader_ = nullptr;  // the parked coroutine, if any (implementation's own)
  void* writer_ = nullptr;
  EventHandler* handler_ = nullptr;
  Registration registration_;
  SocketAddress peer_;
};

// Accepts until EAGAIN. Out of descriptors: a reserve descriptor takes and closes the pending connection (the peer sees
// a close, not a hang), a throttled warning is logged, and accepting goes on by a timer.
class TcpListener {
 public:
  ~TcpListener();
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;

  // A wildcard IPv6 address also takes IPv4. Port 0 picks one. In use: kBusy, and the message names who holds the port
  // ("held by process 1234 (nginx)") where that can be found out.
  static Result<std::unique_ptr<TcpListener>> listen(const SocketAddress& address, int backlog = 4096);

  SocketAddress local() const;

  // Yields. The next connection; kInterrupted after interrupt of the coroutine, kClosed after close().
  Result<std::unique_ptr<TcpStream>> accept(Deadline deadline);

  void close();

 private:
  struct Impl;
  explicit TcpListener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::io
