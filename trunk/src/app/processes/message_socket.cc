#include "app/processes/message_socket.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>

#include "app/processes/attached.h"

namespace weir::app {

Result<std::array<io::OwnFd, 2>> MessageSocket::pair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return Error::from_errno(errno, "socketpair");
    }
    std::array<io::OwnFd, 2> own{io::OwnFd(ends[0]), io::OwnFd(ends[1])};
    ::fcntl(ends[1], F_SETFD, 0);
    return own;
}

Error MessageSocket::send(const ProcessMessage& message, int attached) {
    std::string bytes = message.encode();
    if (bytes.size() > ProcessMessage::kMaxBytes) {
        return make_error(ErrorCode::kLimit, "a message of {} bytes", bytes.size());
    }
    iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (attached >= 0) {
        header.msg_control = control.data();
        header.msg_controllen = control.size();
        cmsghdr* const first = CMSG_FIRSTHDR(&header);
        first->cmsg_level = SOL_SOCKET;
        first->cmsg_type = SCM_RIGHTS;
        first->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(first), &attached, sizeof attached);
    }
    while (::sendmsg(fd_.get(), &header, MSG_NOSIGNAL) < 0) {
        if (errno == EINTR) {
            continue;
        }
        if (errno == EAGAIN || errno == ENOBUFS) {
            return make_error(ErrorCode::kFull, "the other process does not read");
        }
        if (errno == EPIPE || errno == ECONNRESET) {
            return make_error(ErrorCode::kClosed, "the other process has gone");
        }
        return Error::from_errno(errno, "sendmsg");
    }
    return {};
}

Result<std::optional<MessageSocket::Received>> MessageSocket::receive() {
    // Of all of them: nothing yields between a read and its use.
    static std::array<char, ProcessMessage::kMaxBytes + 1> bytes;
    iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    ssize_t got = 0;
    do {
        got = ::recvmsg(fd_.get(), &header, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN) {
        return std::optional<Received>();
    }
    if (got == 0 || (got < 0 && errno == ECONNRESET)) {
        return make_error(ErrorCode::kClosed, "the other process has gone");
    }
    if (got < 0) {
        return Error::from_errno(errno, "recvmsg");
    }
    Received received;
    received.attached = std::move(take_attached(header).descriptor);
    if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        return make_error(ErrorCode::kLimit, "a message of more than {} bytes",
                          ProcessMessage::kMaxBytes);
    }
    WEIR_TRY_ASSIGN(received.message,
                    ProcessMessage::decode({bytes.data(), static_cast<size_t>(got)}));
    return std::optional<Received>(std::move(received));
}

}  // namespace weir::app
