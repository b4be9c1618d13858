#include "bench/load/udp_link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace weir::load {
namespace {

constexpr size_t kBurstBytes = 65'536;
constexpr int kReceiveBytes = 1 << 20;

struct Buffers {
    alignas(8) std::array<uint8_t, kBurstBytes> burst;
    alignas(8) std::array<uint8_t, UdpLink::kMaxDatagram> aligned;
};

// One for the process: a receive hands all of it on before it returns.
Buffers& buffers() {
    static Buffers buffers;
    return buffers;
}

// The size of the joined datagrams; `size` when it is one.
size_t segment_of(msghdr& message, size_t size) {
    for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
         each = CMSG_NXTHDR(&message, each)) {
        if (each->cmsg_level == SOL_UDP && each->cmsg_type == UDP_GRO) {
            int bytes = 0;
            std::memcpy(&bytes, CMSG_DATA(each), sizeof bytes);
            return bytes > 0 ? static_cast<size_t>(bytes) : size;
        }
    }
    return size;
}

}  // namespace

Result<std::unique_ptr<UdpLink>> UdpLink::open(const NetAddress& server,
                                               const io::SocketAddress* from,
                                               io::EventHandler& handler) {
    const int family = server.is_v4() ? AF_INET : AF_INET6;
    const int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return Error::from_errno(errno, "socket");
    }
    // lint: allow-new - private constructor
    std::unique_ptr<UdpLink> link(new UdpLink(fd));
    const int on = 1;
    setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on);
    // What comes while this process stands still is not the server's loss. As much as the kernel
    // gives.
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof kReceiveBytes);
    if (from != nullptr && from->family() == family &&
        bind(fd, from->raw(), from->raw_size()) != 0) {
        return Error::from_errno(errno, "bind udp " + from->to_string());
    }
    sockaddr_storage address{};
    const socklen_t size = server.to_sockaddr(address, family);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) {
        return Error::from_errno(errno, "connect udp " + server.to_string());
    }
    WEIR_TRY_ASSIGN(link->registration_, io::Registration::add(fd, handler));
    return link;
}

UdpLink::~UdpLink() {
    registration_.remove();
    ::close(fd_);
}

// What the kernel does not take is lost, as on the way.
void UdpLink::send(const NetAddress&, ByteSpan datagrams, size_t segment_bytes) {
    const bool is_burst = segment_bytes > 0 && datagrams.size() > segment_bytes;
    if (is_burst && joined_sends_) {
        iovec part{const_cast<uint8_t*>(datagrams.data()), datagrams.size()};  // NOLINT: only read
        alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(sizeof(uint16_t))> control{};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_UDP;
        header->cmsg_type = UDP_SEGMENT;
        header->cmsg_len = CMSG_LEN(sizeof(uint16_t));
        const auto bytes = static_cast<uint16_t>(segment_bytes);
        std::memcpy(CMSG_DATA(header), &bytes, sizeof bytes);
        if (sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno == EAGAIN) {
            return;
        }
        joined_sends_ = false;
    }
    while (!datagrams.empty()) {
        const size_t size = is_burst ? std::min(segment_bytes, datagrams.size()) : datagrams.size();
        (void)::send(fd_, datagrams.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
        datagrams = datagrams.subspan(size);
    }
}

bool UdpLink::receive(const std::function<bool(std::span<uint8_t> datagram)>& visit) {
    Buffers& shared = buffers();
    iovec part{shared.burst.data(), shared.burst.size()};
    alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(sizeof(int))> control;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(fd_, &message, MSG_DONTWAIT);
    if (got < 0) {
        // Others are an ICMP error of an earlier send: told once, and the next call goes on.
        return errno != EAGAIN && errno != EWOULDBLOCK;
    }
    std::span<uint8_t> rest(shared.burst.data(), static_cast<size_t>(got));
    const size_t segment = segment_of(message, rest.size());
    while (!rest.empty()) {
        std::span<uint8_t> datagram = rest.first(std::min(segment, rest.size()));
        rest = rest.subspan(datagram.size());
        if (datagram.size() > kMaxDatagram) {
            continue;
        }
        if ((reinterpret_cast<uintptr_t>(datagram.data()) & 3U) != 0) {
            std::copy(datagram.begin(), datagram.end(), shared.aligned.begin());
            datagram = std::span(shared.aligned).first(datagram.size());
        }
        if (!visit(datagram)) {
            return false;
        }
    }
    return true;
}

}  // namespace weir::load
