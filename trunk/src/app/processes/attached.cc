#include "app/processes/attached.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "io/unix_socket.h"

namespace weir::app {

Result<io::OwnFd> open_for_messages(const std::string& address, std::string_view purpose) {
    io::OwnFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) {
        return Error::from_errno(errno, "socket");
    }
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    WEIR_TRY_ASSIGN(const io::UnixAddress to, io::UnixAddress::of(address));
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&to.raw), to.size) != 0) {
        return Error::from_errno(errno, fmt::format("bind the socket for {}", purpose));
    }
    return socket;
}

Attached take_attached(msghdr& message) {
    Attached attached;
    size_t count = 0;
    for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
         each = CMSG_NXTHDR(&message, each)) {
        if (each->cmsg_level != SOL_SOCKET) {
            continue;
        }
        if (each->cmsg_type == SCM_RIGHTS) {
            const size_t bytes = each->cmsg_len - CMSG_LEN(0);
            for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(each) + at, sizeof fd);
                attached.descriptor = io::OwnFd(fd);  // closes the one before
                count++;
            }
        } else if (each->cmsg_type == SCM_CREDENTIALS) {
            ucred sender{};
            std::memcpy(&sender, CMSG_DATA(each), sizeof sender);
            attached.user = sender.uid;
        }
    }
    if (count != 1) {
        attached.descriptor.reset();
    }
    return attached;
}

}  // namespace weir::app
