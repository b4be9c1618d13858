#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "io/listening.h"
#include "io/port_holder.h"
#include "io/scheduler.h"
#include "io/tcp.h"
#include "io/unix_socket.h"

namespace weir::io {
namespace {

constexpr Millis kRetryDelay{100};        // when not even the reserve descriptor helps
constexpr Millis kWarningPeriod{10'000};  // of the out-of-descriptors warning

int open_reserve() {
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

Error busy_or_system(int why, const SocketAddress& address) {
    if (why == EACCES && address.port() != 0 && address.port() < 1024) {
        return make_error(ErrorCode::kDenied,
                          "listen on {}: permission denied; ports below 1024 need root or "
                          "CAP_NET_BIND_SERVICE (AmbientCapabilities= in the service file, or "
                          "setcap cap_net_bind_service=+ep on the program)",
                          address.to_string());
    }
    if (why == EADDRNOTAVAIL) {
        return make_error(
            ErrorCode::kSystem,
            "listen on {}: this machine has no such address (\"ip address\" lists those it "
            "has)",
            address.to_string());
    }
    if (why != EADDRINUSE) {
        return Error::from_errno(why, fmt::format("listen on {}", address.to_string()));
    }
    std::string holder = describe_port_holder(PortKind::kTcp, address.port());
    return make_error(ErrorCode::kBusy, "listen on {}: the port is in use{}{}", address.to_string(),
                      holder.empty() ? "" : ", ", holder);
}

// The listening socket, or the errno.
OwnFd try_open(const SocketAddress& address, PortUse use, int backlog, int& why) {
    OwnFd own(socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int fd = own.get();
    if (fd < 0) {
        why = errno;
        return own;
    }
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (use == PortUse::kShared) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    }
    if (address.family() == AF_INET6) {
        int only_v6 = address.is_any() ? 0 : 1;
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6);
    }
    if (bind(fd, address.raw(), address.raw_size()) != 0 || ::listen(fd, backlog) != 0) {
        why = errno;
        own.reset();
    }
    return own;
}

Result<OwnFd> open_with(const SocketAddress& address, PortUse use, int backlog) {
    int why = 0;
    OwnFd fd = try_open(address, use, backlog, why);
    const bool no_ipv6 = why == EAFNOSUPPORT || why == EADDRNOTAVAIL;
    if (!fd && no_ipv6 && address.family() == AF_INET6 && address.is_any()) {
        // A kernel without IPv6: "every address" is then every IPv4 address.
        WEIR_TRY_ASSIGN(SocketAddress v4,
                        SocketAddress::parse(fmt::format("0.0.0.0:{}", address.port())));
        fd = try_open(v4, use, backlog, why);
    }
    if (!fd) {
        return busy_or_system(why, address);
    }
    return fd;
}

}  // namespace

struct TcpListener::Impl final : EventHandler, Counted<TcpListener::Impl> {
    // A listening socket.
    static constexpr ObjectName kObjectName{"listener", "network"};

    ~Impl() { close(); }

    void on_ready(uint8_t) override {
        readable = true;
        if (acceptor != nullptr) {
            acceptor->wake();
        }
    }

    void close() {
        closed = true;
        registration.remove();
        if (fd >= 0) {
            ::close(std::exchange(fd, -1));
        }
        if (reserve_fd >= 0) {
            ::close(std::exchange(reserve_fd, -1));
        }
        if (acceptor != nullptr) {
            acceptor->wake();
        }
    }

    Error wait(Deadline deadline);
    bool shed_one();
    Error handle_failure(int why, Deadline deadline);

    int fd = -1;
    int reserve_fd = -1;
    bool readable = true;
    bool closed = false;
    uint64_t shed = 0;
    log::Throttle warning{kWarningPeriod};
    CoroutineState* acceptor = nullptr;
    Registration registration;
};

// Yields. Until an edge.
Error TcpListener::Impl::wait(Deadline deadline) {
    WEIR_CHECK(acceptor == nullptr);
    CoroutineState& self = current();
    acceptor = &self;
    Error error;
    while (!readable && !closed && !error) {
        if (self.interrupted()) {
            error = interrupted_error();
        } else if (park(deadline, "a connection", fd) == Wake::kTimeout && !readable && !closed) {
            error = make_error(ErrorCode::kTimeout, "no connection in time");
        }
    }
    acceptor = nullptr;
    return error;
}

// Out of descriptors: takes the pending connection with the reserve and closes it. False when that
// does not work.
bool TcpListener::Impl::shed_one() {
    if (reserve_fd < 0) {
        reserve_fd = open_reserve();
        return reserve_fd >= 0;  // there is a descriptor again: accept by the normal way
    }
    ::close(std::exchange(reserve_fd, -1));
    int taken = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
    int why = errno;
    if (taken >= 0) {
        ::close(taken);
        shed++;
    }
    reserve_fd = open_reserve();
    if (taken < 0 && why == EAGAIN) {
        readable = false;
        return true;
    }
    return taken >= 0;
}

// Yields. Success: try again.
Error TcpListener::Impl::handle_failure(int why, Deadline deadline) {
    if (why == EAGAIN) {
        readable = false;
        return wait(deadline);
    }
    bool out_of_descriptors = why == EMFILE || why == ENFILE;
    if (!out_of_descriptors && why != ENOBUFS && why != ENOMEM) {
        // accept(2): errors of the pending connection itself (ECONNABORTED, EPROTO, ENETDOWN ...)
        // are to be skipped.
        bool ours = why == EBADF || why == EINVAL || why == ENOTSOCK || why == EFAULT;
        return ours ? Error::from_errno(why, "accept") : Error();
    }
    bool again = out_of_descriptors && shed_one();
    if (warning.allow(MonoClock::now())) {
        log::warn("cannot accept connections, raise the descriptor limit: {} closed_unserved={}",
                  out_of_descriptors ? "out of descriptors" : "out of memory", shed);
    }
    if (again) {
        return {};
    }
    // No edge will come for what is pending already: only a timer helps.
    Deadline retry = Deadline::after(kRetryDelay);
    Error error = sleep_until(retry.time() < deadline.time() ? retry : deadline);
    if (!error && deadline.passed()) {
        return make_error(ErrorCode::kTimeout, "no connection in time");
    }
    return error;
}

TcpListener::TcpListener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TcpListener::~TcpListener() {
    WEIR_CHECK(impl_->acceptor == nullptr);
}

Result<OwnFd> open_listening(const SocketAddress& address, PortUse use) {
    return open_with(address, use, kListenBacklog);
}

SocketAddress local_address(int fd) {
    sockaddr_in6 address{};
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    return getsockname(fd, raw, &size) == 0 ? SocketAddress::from_raw(raw, size) : SocketAddress();
}

Result<std::unique_ptr<TcpListener>> TcpListener::listen(const SocketAddress& address,
                                                         int backlog) {
    WEIR_TRY_ASSIGN(OwnFd socket, open_with(address, PortUse::kAlone, backlog));
    return adopt(std::move(socket));
}

Result<std::unique_ptr<TcpListener>> TcpListener::adopt(OwnFd socket) {
    auto impl = std::make_unique<Impl>();
    impl->fd = socket.release();
    impl->reserve_fd = open_reserve();
    WEIR_TRY_ASSIGN(impl->registration, Registration::add(impl->fd, *impl));
    return std::unique_ptr<TcpListener>(
        new TcpListener(std::move(impl)));  // NOLINT: private constructor
}

SocketAddress TcpListener::local() const {
    return local_address(impl_->fd);
}

Result<std::unique_ptr<TcpStream>> TcpListener::accept(Deadline deadline) {
    CoroutineState& self = current();
    for (;;) {
        if (self.spend_io_budget()) {
            yield();
        }
        if (self.interrupted()) {
            return interrupted_error();
        }
        if (impl_->closed) {
            return make_error(ErrorCode::kClosed, "the listener is closed");
        }
        if (!impl_->readable) {
            WEIR_TRY(impl_->wait(deadline));
            continue;
        }
        sockaddr_in6 peer{};
        socklen_t size = sizeof peer;
        auto* raw = reinterpret_cast<sockaddr*>(&peer);
        int fd = accept4(impl_->fd, raw, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        int why = errno;
        if (fd >= 0 && raw->sa_family == AF_UNIX && !is_of_own_user(fd)) {
            ::close(fd);
            continue;
        }
        if (fd >= 0) {
            auto stream =
                TcpStream::adopt(fd, raw->sa_family == AF_UNIX
                                         ? SocketAddress::of(NetAddress::from_v4({127, 0, 0, 1}, 0))
                                         : SocketAddress::from_raw(raw, size));
            if (stream.ok()) {
                return stream;
            }
            why = ENOMEM;  // epoll takes no more: as good as out of memory, and that one connection
                           // is closed
        }
        WEIR_TRY(impl_->handle_failure(why, deadline));
    }
}

Result<std::unique_ptr<TcpStream>> TcpListener::accept_waiting() {
    impl_->readable = true;  // an edge may not have been told yet
    return accept(Deadline::at(MonoClock::now()));
}

void TcpListener::close() {
    impl_->close();
}

}  // namespace weir::io
