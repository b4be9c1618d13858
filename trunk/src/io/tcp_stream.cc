#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/check.h"
#include "io/fiber.h"
#include "io/scheduler.h"
#include "io/socket_calls.h"
#include "io/stream_options.h"
#include "io/tcp.h"
#include "io/tls_channel.h"

namespace weir::io {
namespace {

static_assert(sizeof(TcpStream) <= 128,
              "one per player: see the memory budget in doc/architecture.md");

void set_option(int fd, int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof value);
}

// What is left of the parts when so much of them is written. Empty ones in front go, too.
std::span<iovec> without(std::span<iovec> parts, size_t written) {
    while (!parts.empty() && written >= parts.front().iov_len) {
        written -= parts.front().iov_len;
        parts = parts.subspan(1);
    }
    if (!parts.empty()) {
        parts.front().iov_base = static_cast<uint8_t*>(parts.front().iov_base) + written;
        parts.front().iov_len -= written;
    }
    return parts;
}

IoResult closed_or_failed(int error_number) {
    bool reset = error_number == ECONNRESET || error_number == EPIPE || error_number == ENOTCONN;
    return {reset ? IoStatus::kClosed : IoStatus::kFailed, 0, error_number};
}

Error to_error(const IoResult& result, const char* doing) {
    if (result.status == IoStatus::kFailed) {
        return Error::from_errno(result.error_number, doing);
    }
    return make_error(
        ErrorCode::kClosed, "{}",
        result.error_number != 0 ? "connection reset by the peer" : "closed by the peer");
}

Error closed_here() {
    return make_error(ErrorCode::kClosed, "the connection is closed");
}

// Starts; the outcome comes as "writable".
Result<int> start_connect(const SocketAddress& to, const SocketAddress* from) {
    int fd = socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return Error::from_errno(errno, "socket");
    }
    if (from != nullptr) {
        // Many connections from one address: the port is picked at connect(), when the whole tuple
        // is known.
        set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
        if (bind(fd, from->raw(), from->raw_size()) != 0) {
            int why = errno;
            ::close(fd);
            return Error::from_errno(why, fmt::format("bind {}", from->to_string()));
        }
    }
    int outcome = 0;
    do {
        outcome = ::connect(fd, to.raw(), to.raw_size());
    } while (outcome != 0 && errno == EINTR);
    if (outcome != 0 && errno != EINPROGRESS) {
        int why = errno;
        ::close(fd);
        return Error::from_errno(why, fmt::format("connect to {}", to.to_string()));
    }
    return fd;
}

}  // namespace

TcpStream::TcpStream(int fd, const SocketAddress& peer) : fd_(fd), peer_(peer) {}

TcpStream::~TcpStream() {
    WEIR_CHECK(reader_ == nullptr && writer_ == nullptr);
    close();
}

Result<std::unique_ptr<TcpStream>> TcpStream::connect(const SocketAddress& to,
                                                      Deadline deadline,
                                                      const SocketAddress* from) {
    if (current().interrupted()) {
        return interrupted_error();
    }
    WEIR_TRY_ASSIGN(int fd, start_connect(to, from));
    WEIR_TRY_ASSIGN(auto stream, adopt(fd, to));
    stream->writable_ = false;
    int failure = 0;
    for (;;) {
        if (Error error =
                stream->wait(stream->writable_, stream->writer_, deadline, "no answer in time")) {
            return std::move(error).with_context(fmt::format("connect to {}", to.to_string()));
        }
        socklen_t size = sizeof failure;
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) {
            failure = errno;
        }
        sockaddr_in6 peer{};
        size = sizeof peer;
        if (failure != 0 || getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0) {
            break;
        }
        stream->writable_ = false;  // an event from before the connection was there
    }
    if (failure != 0) {
        return Error::from_errno(failure, fmt::format("connect to {}", to.to_string()));
    }
    return stream;
}

Result<std::unique_ptr<TcpStream>> TcpStream::adopt(int fd, const SocketAddress& peer) {
    std::unique_ptr<TcpStream> stream(new TcpStream(fd, peer));  // NOLINT: private constructor
    int flags = 1;
    if (ioctl(fd, FIONBIO, &flags) != 0) {
        return Error::from_errno(errno, "set non-blocking");
    }
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    WEIR_TRY_ASSIGN(stream->registration_, Registration::add(fd, *stream));
    return stream;
}

Result<TcpStream::Pair> TcpStream::pair(const SocketAddress& peer) {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) {
        return Error::from_errno(errno, "socketpair");
    }
    Result<std::unique_ptr<TcpStream>> one = adopt(fds[0], peer);
    Result<std::unique_ptr<TcpStream>> other = adopt(fds[1], peer);
    WEIR_TRY_ASSIGN(std::unique_ptr<TcpStream> first, std::move(one));
    WEIR_TRY_ASSIGN(std::unique_ptr<TcpStream> second, std::move(other));
    return Pair{std::move(first), std::move(second)};
}

Error TcpStream::watch() {
    if (!closed_ && !registration_.active()) {
        WEIR_TRY_ASSIGN(registration_, Registration::add(fd_, *this));
    }
    return {};
}

void TcpStream::apply(const StreamOptions& options) {
    if (options.send_buffer_bytes > 0) {
        set_option(fd_, SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes);
    }
    if (options.notsent_lowat_bytes > 0) {
        set_option(fd_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, options.notsent_lowat_bytes);
    }
    if (options.user_timeout > Millis::zero()) {
        set_option(fd_, IPPROTO_TCP, TCP_USER_TIMEOUT,
                   static_cast<int>(options.user_timeout.count()));
    }
}

SocketAddress TcpStream::local() const {
    sockaddr_in6 address{};
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (getsockname(fd_, raw, &size) != 0) {
        return {};
    }
    return SocketAddress::from_raw(raw, size);
}

void TcpStream::replay(Replay what) {
    WEIR_CHECK(!tls_);
    if (!what.answered.empty() || !what.heard.empty()) {
        replay_ = std::make_unique<Replay>(std::move(what));
    }
}

bool TcpStream::drops_answers() const {
    return replay_ && !replay_->answered.empty() && replay_->read <= replay_->answered.size();
}

// A read ends where the answers begin to count.
IoResult TcpStream::read_again(std::span<uint8_t> out) {
    Replay& replay = *replay_;
    const size_t answered = replay.answered.size();
    const ByteSpan rest = replay.read < answered
                              ? ByteSpan(replay.answered).subspan(replay.read)
                              : ByteSpan(replay.heard).subspan(replay.read - answered);
    const size_t bytes = std::min(rest.size(), out.size());
    std::copy_n(rest.begin(), bytes, out.begin());
    replay.read += bytes;
    if (replay.read == answered + replay.heard.size() && !replay.heard.empty()) {
        replay_.reset();
    }
    return {IoStatus::kDone, bytes};
}

IoResult TcpStream::try_read(std::span<uint8_t> out) {
    if (closed_) {
        return {IoStatus::kClosed};
    }
    if (replay_) [[unlikely]] {
        if (replay_->read < replay_->answered.size() + replay_->heard.size()) {
            return read_again(out);
        }
        replay_.reset();  // from here on the peer itself speaks
    }
    if (tls_) [[unlikely]] {
        return tls_->read(out, readable_, hangup_);
    }
    const ssize_t got = receive(fd_, out);
    if (got > 0) {
        auto bytes = static_cast<size_t>(got);
        // A short read has emptied the socket and new bytes give a new edge; but a FIN that came
        // along gave its edge already, and only another read finds it.
        if (bytes < out.size() && !hangup_) {
            readable_ = false;
        }
        return {IoStatus::kDone, bytes};
    }
    if (got == 0) {
        return {IoStatus::kClosed};
    }
    if (errno == EAGAIN) {
        readable_ = false;
        return {IoStatus::kWouldBlock};
    }
    return closed_or_failed(errno);
}

IoResult TcpStream::try_write(ByteSpan data) {
    if (closed_) {
        return {IoStatus::kClosed};
    }
    if (drops_answers()) [[unlikely]] {
        return {IoStatus::kDone, data.size()};
    }
    if (tls_) [[unlikely]] {
        const iovec part{const_cast<uint8_t*>(data.data()), data.size()};
        return tls_->write({&part, 1}, writable_);
    }
    return finish_write(transmit(fd_, data), data.size());
}

IoResult TcpStream::try_send_file(int file, uint64_t offset, size_t size) {
    if (closed_) {
        return {IoStatus::kClosed};
    }
    WEIR_CHECK(!tls_ && !drops_answers());
    auto from = static_cast<off_t>(offset);
    ssize_t sent = 0;
    do {
        sent = sendfile(fd_, file, &from, size);
    } while (sent < 0 && errno == EINTR);
    return finish_write(sent, size);
}

IoResult TcpStream::try_writev(std::span<const iovec> parts) {
    if (parts.size() == 1) {  // the usual case of a player, and sendto is the cheaper call
        return try_write({static_cast<const uint8_t*>(parts[0].iov_base), parts[0].iov_len});
    }
    if (closed_) {
        return {IoStatus::kClosed};
    }
    if (tls_) [[unlikely]] {
        return tls_->write(parts, writable_);
    }
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    size_t wanted = 0;
    for (const iovec& part : parts) {
        wanted += part.iov_len;
    }
    if (drops_answers()) [[unlikely]] {
        return {IoStatus::kDone, wanted};
    }
    return finish_write(transmit(fd_, message), wanted);
}

IoResult TcpStream::finish_write(ssize_t written, size_t wanted) {
    if (written >= 0) {
        auto bytes = static_cast<size_t>(written);
        if (bytes < wanted) {
            writable_ = false;
        }
        return {IoStatus::kDone, bytes};
    }
    if (errno == EAGAIN) {
        writable_ = false;
        return {IoStatus::kWouldBlock};
    }
    return closed_or_failed(errno);
}

// Yields. Until `ready`, which is one of our flags.
Error TcpStream::wait(const bool& ready,
                      CoroutineState*& waiter,
                      Deadline deadline,
                      const char* what) {
    WEIR_CHECK(waiter == nullptr);
    CoroutineState& self = current();
    const char* waits_for = &ready == &readable_ ? "bytes of the peer" : "room in the send buffer";
    waiter = &self;
    Error error;
    while (!ready && !closed_) {
        if (self.interrupted()) {
            error = interrupted_error();
            break;
        }
        if (park(deadline, waits_for, fd_) == Wake::kTimeout && !ready && !closed_) {
            error = make_error(ErrorCode::kTimeout, "{}", what);
            break;
        }
    }
    waiter = nullptr;
    return error;
}

Result<size_t> TcpStream::read_some(std::span<uint8_t> out, Deadline deadline) {
    WEIR_DCHECK(!out.empty());
    CoroutineState& self = current();
    if (self.spend_io_budget()) {
        yield();
    }
    for (;;) {
        if (self.interrupted()) {
            return interrupted_error();
        }
        if (closed_) {
            return closed_here();
        }
        if (readable_) {
            IoResult result = try_read(out);
            if (result.status == IoStatus::kDone) {
                return result.bytes;
            }
            if (result.status != IoStatus::kWouldBlock) {
                return to_error(result, "read");
            }
        }
        WEIR_TRY(wait(readable_, reader_, deadline, "nothing received in time"));
    }
}

Error TcpStream::wait_readable(Deadline deadline) {
    if (current().spend_io_budget()) {
        yield();
    }
    if (current().interrupted()) {
        return interrupted_error();
    }
    WEIR_TRY(wait(readable_, reader_, deadline, "nothing received in time"));
    return closed_ ? closed_here() : Error();
}

Error TcpStream::wait_writable(Deadline deadline) {
    if (current().spend_io_budget()) {
        yield();
    }
    if (current().interrupted()) {
        return interrupted_error();
    }
    WEIR_TRY(wait(writable_, writer_, deadline, "the peer took nothing in time"));
    return closed_ ? closed_here() : Error();
}

Error TcpStream::read_full(std::span<uint8_t> out, Deadline deadline) {
    while (!out.empty()) {
        WEIR_TRY_ASSIGN(size_t bytes, read_some(out, deadline));
        out = out.subspan(bytes);
    }
    return {};
}

Error TcpStream::write_all(ByteSpan data, Deadline deadline) {
    iovec part{const_cast<uint8_t*>(data.data()), data.size()};
    return write_all(std::span(&part, 1), deadline);
}

Error TcpStream::write_all(std::span<iovec> parts, Deadline deadline) {
    CoroutineState& self = current();
    if (self.spend_io_budget()) {
        yield();
    }
    while (parts = without(parts, 0), !parts.empty()) {
        if (self.interrupted()) {
            return interrupted_error();
        }
        if (closed_) {
            return closed_here();
        }
        if (writable_) {
            IoResult result = try_writev(parts.first(std::min(parts.size(), kMaxWriteParts)));
            if (result.status == IoStatus::kDone) {
                parts = without(parts, result.bytes);
                continue;
            }
            if (result.status != IoStatus::kWouldBlock) {
                return to_error(result, "write");
            }
        }
        WEIR_TRY(wait(writable_, writer_, deadline, "the peer took nothing in time"));
    }
    // An encrypted stream may still hold the last of it: a close right after this would lose it.
    while (tls_ && tls_->pending()) {
        WEIR_TRY(wait(writable_, writer_, deadline, "the peer took nothing in time"));
        if (closed_) {
            return closed_here();
        }
        const IoStatus flushed = tls_->flush();
        if (flushed == IoStatus::kFailed) {
            return to_error(tls_->broken(), "write");
        }
        if (flushed == IoStatus::kWouldBlock) {
            writable_ = false;
        }
    }
    return {};
}

void TcpStream::on_ready(uint8_t ready) {
    if (tls_ && (ready & kWritable) != 0 && tls_->flush() == IoStatus::kWouldBlock) {
        ready &= static_cast<uint8_t>(~kWritable);  // the room was for what waited
    }
    readable_ = readable_ || (ready & kReadable) != 0;
    writable_ = writable_ || (ready & kWritable) != 0;
    hangup_ = hangup_ || (ready & (kHangup | kFault)) != 0;
    if (reader_ != nullptr && readable_) {
        reader_->wake();
    }
    if (writer_ != nullptr && writable_) {
        writer_->wake();
    }
    if (handler_ != nullptr) {
        handler_->on_ready(ready);  // may destroy this
    }
}

void TcpStream::wake_waiters() {
    for (CoroutineState* waiter : {reader_, writer_}) {
        if (waiter != nullptr) {
            waiter->wake();
        }
    }
}

bool TcpStream::end_writing() {
    if (closed_) {
        return false;
    }
    if (tls_) {
        tls_->say_goodbye();
    }
    return ::shutdown(fd_, SHUT_WR) == 0;
}

void TcpStream::encrypt(std::unique_ptr<TlsChannel> channel) {
    WEIR_CHECK(!tls_ && !closed_);
    channel->attach(fd_);
    tls_ = std::move(channel);
    readable_ = true;  // what came behind the handshake may be in the channel
}

SocketAddress TcpStream::connection_peer() const {
    sockaddr_in6 address{};
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    return getpeername(fd_, raw, &size) == 0 ? SocketAddress::from_raw(raw, size) : peer_;
}

bool TcpStream::by_unix_socket() const {
    int domain = AF_UNSPEC;
    socklen_t size = sizeof domain;
    return getsockopt(fd_, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

void TcpStream::shutdown() {
    if (!closed_) {
        if (tls_) {
            tls_->say_goodbye();
        }
        closed_ = true;
        ::shutdown(fd_, SHUT_RDWR);
        wake_waiters();
    }
}

void TcpStream::close() {
    if (tls_ && !closed_) {
        tls_->say_goodbye();
    }
    closed_ = true;
    tls_.reset();
    if (fd_ >= 0) {
        registration_.remove();
        ::close(std::exchange(fd_, -1));
        wake_waiters();
    }
}

}  // namespace weir::io
