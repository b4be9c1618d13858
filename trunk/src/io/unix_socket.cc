#include "io/unix_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/listening.h"
#include "io/own_fd.h"
#include "io/tcp.h"

namespace weir::io {
namespace {

// The other process has not taken those that wait already.
constexpr Millis kRetry{5};

}  // namespace

Result<UnixAddress> UnixAddress::of(const std::string& path) {
    UnixAddress address;
    static_assert(sizeof address.raw.sun_path == kMaxUnixPath + 1);
    if (path.size() > kMaxUnixPath) {
        return make_error(ErrorCode::kLimit, "the path of a unix socket has more than {} bytes",
                          kMaxUnixPath);
    }
    const bool abstract = path.starts_with('@');
    address.raw.sun_family = AF_UNIX;
    std::ranges::copy(path, address.raw.sun_path);
    address.size = sizeof address.raw;
    if (abstract) {
        address.raw.sun_path[0] = '\0';
        address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    }
    return address;
}

Result<std::unique_ptr<TcpStream>> connect_unix(const std::string& path, Deadline deadline) {
    WEIR_TRY_ASSIGN(const UnixAddress address, UnixAddress::of(path));
    OwnFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd.get() < 0) {
        return Error::from_errno(errno, "socket");
    }
    while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.raw), address.size) !=
           0) {
        if (errno != EAGAIN) {
            return Error::from_errno(errno, fmt::format("connect to {}", path));
        }
        if (deadline.passed()) {
            return make_error(ErrorCode::kTimeout, "connect to {}: no answer in time", path);
        }
        WEIR_TRY(sleep_for(kRetry));
    }
    // Anybody may take a name that is free for a moment.
    if (path.starts_with('@') && !is_of_own_user(fd.get())) {
        return make_error(ErrorCode::kDenied, "connect to {}: it is another user's", path);
    }
    return TcpStream::adopt(fd.release(),
                            SocketAddress::of(NetAddress::from_v4({127, 0, 0, 1}, 0)));
}

Result<OwnFd> open_unix_listening(const std::string& path) {
    WEIR_TRY_ASSIGN(const UnixAddress address, UnixAddress::of(path));
    OwnFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) {
        return Error::from_errno(errno, "socket");
    }
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.raw), address.size) != 0 ||
        ::listen(fd.get(), kListenBacklog) != 0) {
        return errno == EADDRINUSE
                   ? make_error(ErrorCode::kBusy, "listen on {}: it is in use", path)
                   : Error::from_errno(errno, fmt::format("listen on {}", path));
    }
    return fd;
}

bool is_of_own_user(int fd) {
    ucred other{};
    socklen_t size = sizeof other;
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 &&
           (other.uid == ::geteuid() || other.uid == 0);
}

}  // namespace weir::io
