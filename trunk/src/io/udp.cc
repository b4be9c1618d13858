#include "io/udp.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <ifaddrs.h>

#include "base/check.h"
#include "io/listening.h"
#include "io/port_holder.h"
#include "io/scheduler.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace weir::io {
namespace {

constexpr size_t kBurstBuffer = 65'536;  // what the kernel may join into one (GRO)
constexpr size_t kBurstBatch = 8;

// Room for the control messages of a datagram: local address, drops, size of segments.
constexpr size_t kControlBytes =
    CMSG_SPACE(sizeof(in6_pktinfo)) + CMSG_SPACE(sizeof(uint32_t)) + CMSG_SPACE(sizeof(int));

void set_option(int fd, int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof value);
}

// The buffer that the kernel says it has. It doubles what was asked for, for its own use; so does
// the value here.
int set_buffer(int fd, int name, int force_name, int bytes) {
    if (bytes > 0 && setsockopt(fd, SOL_SOCKET, force_name, &bytes, sizeof bytes) != 0) {
        setsockopt(fd, SOL_SOCKET, name, &bytes, sizeof bytes);
    }
    int given = 0;
    socklen_t size = sizeof given;
    getsockopt(fd, SOL_SOCKET, name, &given, &size);
    return given / 2;
}

NetAddress local_address(const cmsghdr& header) {
    if (header.cmsg_level == IPPROTO_IP && header.cmsg_type == IP_PKTINFO) {
        in_pktinfo info;
        std::memcpy(&info, CMSG_DATA(&header), sizeof info);
        NetAddress::V4 ip;
        std::memcpy(ip.data(), &info.ipi_addr, ip.size());
        return NetAddress::from_v4(ip, 0);
    }
    in6_pktinfo info;
    std::memcpy(&info, CMSG_DATA(&header), sizeof info);
    NetAddress::V6 ip;
    std::memcpy(ip.data(), &info.ipi6_addr, ip.size());
    const NetAddress address = NetAddress::from_v6(ip, 0);
    return address.is_link_local()
               ? NetAddress::from_v6(ip, 0, static_cast<uint16_t>(info.ipi6_ifindex))
               : address;
}

// The index of the interface that has this address; 0: none has.
uint32_t interface_of(const NetAddress& local) {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) {
        return 0;
    }
    uint32_t index = 0;
    for (const ifaddrs* one = all; one != nullptr && index == 0; one = one->ifa_next) {
        if (one->ifa_addr == nullptr) {
            continue;
        }
        // All of 127.0.0.0/8 is that interface's.
        const bool is_loopback = local.is_loopback() && (one->ifa_flags & IFF_LOOPBACK) != 0;
        if (is_loopback || NetAddress::from_sockaddr(*one->ifa_addr).same_ip(local)) {
            index = if_nametoindex(one->ifa_name);
        }
    }
    freeifaddrs(all);
    return index;
}

// Says of each datagram where it came to, where that is not known beforehand, and what was lost.
Result<OwnFd> make_socket(const SocketAddress& address) {
    OwnFd own(::socket(address.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!own) {
        return Error::from_errno(errno, "socket");
    }
    if (address.family() == AF_INET6) {
        set_option(own.get(), IPPROTO_IPV6, IPV6_V6ONLY, address.is_any() ? 0 : 1);
    }
    if (address.is_any()) {
        // On a dual-stack socket, too: IPv4 datagrams then come with a mapped local address.
        set_option(own.get(), IPPROTO_IP, IP_PKTINFO, address.family() == AF_INET ? 1 : 0);
        if (address.family() == AF_INET6) {
            set_option(own.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
        }
    }
    set_option(own.get(), SOL_SOCKET, SO_RXQ_OVFL, 1);
    return own;
}

Error bind_socket(int fd, const SocketAddress& address, bool names_holder) {
    if (::bind(fd, address.raw(), address.raw_size()) == 0) {
        return {};
    }
    const int why = errno;
    if (why == EADDRNOTAVAIL) {
        return make_error(
            ErrorCode::kSystem,
            "bind udp {}: this machine has no such address (\"ip address\" lists those it "
            "has)",
            address.to_string());
    }
    if (why != EADDRINUSE) {
        return Error::from_errno(why, fmt::format("bind udp {}", address.to_string()));
    }
    const std::string holder =
        names_holder ? describe_port_holder(PortKind::kUdp, address.port()) : std::string();
    return make_error(ErrorCode::kBusy, "bind udp {}: the port is in use{}{}", address.to_string(),
                      holder.empty() ? "" : ", ", holder);
}

// A message to one peer, with its control messages in place.
class Outgoing {
  public:
    Outgoing(const UdpPath& path, int family, size_t segment_bytes) {
        message_.msg_name = &peer_;
        message_.msg_namelen = path.peer.to_sockaddr(peer_, family);
        message_.msg_control = control_;
        if (!path.local.empty()) {
            add_local(path.local, family);
        }
        if (segment_bytes > 0) {
            const auto bytes = static_cast<uint16_t>(segment_bytes);
            add(SOL_UDP, UDP_SEGMENT, &bytes, sizeof bytes);
        }
        message_.msg_controllen = used_;
        if (used_ == 0) {
            message_.msg_control = nullptr;
        }
    }

    bool reachable() const { return message_.msg_namelen > 0; }

    msghdr& with(iovec& data) {
        message_.msg_iov = &data;
        message_.msg_iovlen = 1;
        return message_;
    }

  private:
    void add(int level, int type, const void* data, size_t size) {
        auto* header = reinterpret_cast<cmsghdr*>(control_ + used_);
        header->cmsg_level = level;
        header->cmsg_type = type;
        header->cmsg_len = CMSG_LEN(size);
        std::memcpy(CMSG_DATA(header), data, size);
        used_ += CMSG_SPACE(size);
    }

    void add_local(const NetAddress& local, int family) {
        if (family == AF_INET) {
            in_pktinfo info{};
            const NetAddress::V4 ip = local.v4();
            std::memcpy(&info.ipi_spec_dst, ip.data(), ip.size());
            add(IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
        } else {
            in6_pktinfo info{};
            std::memcpy(&info.ipi6_addr, local.v6().data(), local.v6().size());
            info.ipi6_ifindex = local.scope();
            add(IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
        }
    }

    sockaddr_storage peer_{};
    alignas(cmsghdr) uint8_t control_[kControlBytes] = {};
    size_t used_ = 0;
    msghdr message_{};
};

}  // namespace

// Buffers of receive(), which nobody holds beyond a call: one for all sockets, and one for those
// that take bursts. Made when they are needed.
struct UdpSocket::Batch {
    static Batch& shared(bool bursts) {
        if (bursts) {
            static Batch batch(true);
            return batch;
        }
        static Batch batch(false);
        return batch;
    }

    explicit Batch(bool bursts)
        : count(bursts ? kBurstBatch : kBatch),
          each(bursts ? kBurstBuffer : kMaxDatagram),
          bytes(std::make_unique_for_overwrite<uint8_t[]>(count * each)) {
        for (size_t i = 0; i < count; i++) {
            parts[i] = {bytes.get() + i * each, each};
        }
    }

    void prepare() {
        for (size_t i = 0; i < count; i++) {
            msghdr& header = messages[i].msg_hdr;
            header = {};
            header.msg_name = &peers[i];
            header.msg_namelen = sizeof peers[i];
            header.msg_iov = &parts[i];
            header.msg_iovlen = 1;
            header.msg_control = control[i];
            header.msg_controllen = sizeof control[i];
        }
    }

    size_t count;
    size_t each;
    std::unique_ptr<uint8_t[]> bytes;
    std::array<mmsghdr, kBatch> messages{};
    std::array<iovec, kBatch> parts{};
    std::array<sockaddr_in6, kBatch> peers{};
    alignas(cmsghdr) uint8_t control[kBatch][kControlBytes] = {};
};

Result<uint32_t> find_interface(const std::string& name) {
    if (name.empty()) {
        return 0U;
    }
    uint32_t index = if_nametoindex(name.c_str());
    if (const auto address = NetAddress::parse_ip(name, 0); index == 0 && address) {
        index = interface_of(*address);
    }
    if (index == 0) {
        return make_error(ErrorCode::kNotFound, "there is no interface {}", name);
    }
    return index;
}

Result<NetAddress> local_address_towards(const NetAddress& peer) {
    const int family = peer.is_v4() ? AF_INET : AF_INET6;
    const int fd = ::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return Error::from_errno(errno, "socket");
    }
    sockaddr_storage address{};
    const socklen_t size = peer.to_sockaddr(address, family);
    sockaddr_storage local{};
    socklen_t local_size = sizeof local;
    // No datagram leaves; the system chooses the way.
    const bool known = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                       ::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_size) == 0;
    const int number = errno;
    ::close(fd);
    if (!known) {
        return Error::from_errno(number, "connect");
    }
    return NetAddress::from_sockaddr(reinterpret_cast<const sockaddr&>(local)).with_port(0);
}

UdpSocket::UdpSocket(int fd, int family, const UdpOptions& options)
    : fd_(fd), family_(family), bursts_(options.receive_bursts) {
    receive_buffer_bytes_ = set_buffer(fd, SO_RCVBUF, SO_RCVBUFFORCE, options.receive_buffer_bytes);
    send_buffer_bytes_ = set_buffer(fd, SO_SNDBUF, SO_SNDBUFFORCE, options.send_buffer_bytes);
}

UdpSocket::~UdpSocket() {
    WEIR_CHECK(reader_ == nullptr && writer_ == nullptr);
    close();
}

Result<std::unique_ptr<UdpSocket>> UdpSocket::bind(const SocketAddress& address,
                                                   const UdpOptions& options) {
    WEIR_TRY_ASSIGN(OwnFd own, make_socket(address));
    const int fd = own.get();
    if (options.shared_port) {
        set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
        // Only what its own groups get, not those of other sockets of this machine.
        set_option(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
    }
    if (options.receive_bursts) {
        set_option(fd, SOL_UDP, UDP_GRO, 1);
    }
    WEIR_TRY(bind_socket(fd, address, options.names_holder));
    return adopt(std::move(own), options);
}

Result<std::unique_ptr<UdpSocket>> UdpSocket::adopt(OwnFd socket, const UdpOptions& options) {
    const int family = local_address(socket.get()).family();
    std::unique_ptr<UdpSocket> udp(new UdpSocket(socket.release(), family, options));
    if (!options.polled) {
        WEIR_TRY_ASSIGN(udp->registration_, Registration::add(udp->fd_, *udp));
    }
    return udp;
}

Result<OwnFd> open_datagrams(const SocketAddress& address,
                             PortUse use,
                             std::optional<uid_t> owner) {
    WEIR_TRY_ASSIGN(OwnFd own, make_socket(address));
    if (owner && ::fchown(own.get(), *owner, static_cast<gid_t>(-1)) != 0) {
        return Error::from_errno(errno, "the socket cannot be given to the user");
    }
    if (use == PortUse::kShared) {
        set_option(own.get(), SOL_SOCKET, SO_REUSEPORT, 1);
    }
    WEIR_TRY(bind_socket(own.get(), address, true));
    return own;
}

// Members of the group that the shared sockets are must not change in number, as that is what the
// kernel spreads new peers by. So a socket beside a wildcard is bound to the address that the peer
// reached, and a socket beside that address to the wildcard, until connect() gives it one.
Result<std::unique_ptr<UdpSocket>> UdpSocket::connect_beside(const UdpPath& path,
                                                             const UdpOptions& options) const {
    const NetAddress own = local().net_address();
    const bool is_v4 = path.peer.is_v4();
    const NetAddress any =
        is_v4 ? NetAddress::from_v4({}, own.port()) : NetAddress::from_v6({}, own.port());
    const SocketAddress from =
        SocketAddress::of(path.local.empty() ? any : path.local.with_port(own.port()));
    const SocketAddress to = SocketAddress::of(path.peer);
    if (from.family() != to.family()) {
        return make_error(ErrorCode::kUnsupported, "{} is no address to reach {} from", from.host(),
                          to.host());
    }
    OwnFd socket(::socket(from.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) {
        return Error::from_errno(errno, "socket");
    }
    if (!is_v4) {
        set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
    }
    set_option(socket.get(), SOL_SOCKET, SO_RXQ_OVFL, 1);
    set_option(socket.get(), SOL_SOCKET, SO_REUSEPORT, 1);
    if (::bind(socket.get(), from.raw(), from.raw_size()) != 0 ||
        ::connect(socket.get(), to.raw(), to.raw_size()) != 0) {
        return Error::from_errno(
            errno, fmt::format("connect udp {} to {}", from.to_string(), to.to_string()));
    }
    const NetAddress reached = path.local.empty() ? own : path.local;
    if (!local_address(socket.get()).net_address().same_ip(reached)) {
        return make_error(ErrorCode::kUnsupported, "the system would send to {} from {}", to.host(),
                          local_address(socket.get()).host());
    }
    return adopt(std::move(socket), options);
}

Result<NetAddress> address_towards(const NetAddress& to) {
    const SocketAddress address = SocketAddress::of(to.with_port(std::max<uint16_t>(1, to.port())));
    const int fd = socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return Error::from_errno(errno, "socket");
    }
    sockaddr_in6 local{};
    socklen_t size = sizeof local;
    auto* const raw = reinterpret_cast<sockaddr*>(&local);
    const bool done =
        ::connect(fd, address.raw(), address.raw_size()) == 0 && getsockname(fd, raw, &size) == 0;
    const int why = errno;
    close(fd);
    if (!done) {
        return Error::from_errno(why, fmt::format("a route to {}", to.ip_text()));
    }
    return SocketAddress::from_raw(raw, size).net_address().with_port(0);
}

SocketAddress UdpSocket::local() const {
    sockaddr_in6 address{};
    socklen_t size = sizeof address;
    if (getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return {};
    }
    return SocketAddress::from_raw(reinterpret_cast<sockaddr*>(&address), size);
}

void UdpSocket::set_multicast_ttl(uint8_t ttl) {
    set_option(fd_, IPPROTO_IP, IP_MULTICAST_TTL, ttl);
}

Error UdpSocket::send_multicast_on(uint32_t interface, uint8_t ttl) {
    const int hops = ttl != 0 ? ttl : 1;
    const int index = static_cast<int>(interface);
    ip_mreqn by{};
    by.imr_ifindex = index;
    const bool v4 = family_ == AF_INET;
    const bool done =
        (v4 ? setsockopt(fd_, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof hops)
            : setsockopt(fd_, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops)) == 0 &&
        (interface == 0 ||
         (v4 ? setsockopt(fd_, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by)
             : setsockopt(fd_, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index, sizeof index)) == 0);
    return done ? Error() : Error::from_errno(errno, "multicast interface");
}

void UdpSocket::on_ready(uint8_t ready) {
    if (ready & (kReadable | kFault)) {
        readable_ = true;
        if (reader_ != nullptr) {
            reader_->wake();
        }
    }
    if (ready & (kWritable | kFault)) {
        writable_ = true;
        if (writer_ != nullptr) {
            writer_->wake();
        }
    }
    if (handler_ != nullptr) {
        handler_->on_ready(ready);  // may destroy this
    }
}

Error UdpSocket::join(const NetAddress& group, const NetAddress& local, const NetAddress& source) {
    return join_on(interface_of(local), group, source);
}

Error UdpSocket::join_on(uint32_t interface, const NetAddress& group, const NetAddress& source) {
    return change_membership(interface, group, source, true);
}

Error UdpSocket::leave_on(uint32_t interface, const NetAddress& group, const NetAddress& source) {
    return change_membership(interface, group, source, false);
}

Error UdpSocket::change_membership(uint32_t interface,
                                   const NetAddress& group,
                                   const NetAddress& source,
                                   bool joins) {
    const int family = group.is_v4() ? AF_INET : AF_INET6;
    const int level = group.is_v4() ? IPPROTO_IP : IPPROTO_IPV6;
    int failed = 0;
    if (source.empty()) {
        group_req join{};
        join.gr_interface = interface;
        group.to_sockaddr(join.gr_group, family);
        failed = setsockopt(fd_, level, joins ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP, &join,
                            sizeof join);
    } else {
        group_source_req join{};
        join.gsr_interface = interface;
        group.to_sockaddr(join.gsr_group, family);
        source.to_sockaddr(join.gsr_source, family);
        failed = setsockopt(fd_, level, joins ? MCAST_JOIN_SOURCE_GROUP : MCAST_LEAVE_SOURCE_GROUP,
                            &join, sizeof join);
    }
    return failed == 0 ? Error()
                       : Error::from_errno(errno, (joins ? "join " : "leave ") + group.ip_text());
}

Error UdpSocket::wait(const bool& ready,
                      CoroutineState*& waiter,
                      Deadline deadline,
                      const char* what) {
    WEIR_CHECK(waiter == nullptr);
    CoroutineState& self = current();
    waiter = &self;
    Error error;
    while (fd_ >= 0 && !error) {
        if (self.interrupted()) {  // also when it is ready: a loop that never waits must end
            error = interrupted_error();
        } else if (ready) {
            break;
        } else if (park(deadline, what, fd_) == Wake::kTimeout && !ready) {
            error = make_error(ErrorCode::kTimeout, "no {} in time", what);
        }
    }
    waiter = nullptr;
    if (!error && fd_ < 0) {
        return make_error(ErrorCode::kClosed, "the socket is closed");
    }
    return error;
}

Error UdpSocket::wait_readable(Deadline deadline) {
    return wait(readable_, reader_, deadline, "datagrams");
}

Error UdpSocket::wait_writable(Deadline deadline) {
    return wait(writable_, writer_, deadline, "room to send");
}

bool UdpSocket::receive(
    const std::function<void(std::span<uint8_t> datagram, const UdpPath& path)>& visit) {
    if (fd_ < 0) {
        return false;
    }
    Batch& batch = Batch::shared(bursts_);
    batch.prepare();
    const int got = recvmmsg(fd_, batch.messages.data(), static_cast<unsigned>(batch.count),
                             MSG_DONTWAIT, nullptr);
    if (got < 0) {
        // Others are an ICMP error of an earlier send: of no meaning here, and gone with the call.
        readable_ = errno != EAGAIN && errno != EWOULDBLOCK;
        return readable_;
    }
    // Fewer than asked for: the kernel looked for the next one and found none, as with EAGAIN. What
    // comes from then on is an edge again, so a second call, which most packets would pay, is
    // spared.
    const bool more = static_cast<size_t>(got) == batch.count;
    readable_ = more;
    for (size_t i = 0; i < static_cast<size_t>(got) && fd_ >= 0; i++) {
        msghdr& header = batch.messages[i].msg_hdr;
        const size_t size = batch.messages[i].msg_len;
        if (header.msg_namelen == 0) {
            continue;
        }
        UdpPath path{NetAddress::from_sockaddr(reinterpret_cast<sockaddr&>(batch.peers[i])), {}};
        size_t segment = size;
        for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
             control = CMSG_NXTHDR(&header, control)) {
            if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SO_RXQ_OVFL) {
                uint32_t drops = 0;
                std::memcpy(&drops, CMSG_DATA(control), sizeof drops);
                // The kernel counts in 32 bits.
                stats_.kernel_drops += drops - static_cast<uint32_t>(stats_.kernel_drops);
            } else if (control->cmsg_level == SOL_UDP && control->cmsg_type == UDP_GRO) {
                int bytes = 0;
                std::memcpy(&bytes, CMSG_DATA(control), sizeof bytes);
                segment = bytes > 0 ? static_cast<size_t>(bytes) : size;
            } else if (control->cmsg_level == IPPROTO_IP || control->cmsg_level == IPPROTO_IPV6) {
                path.local = local_address(*control);
            }
        }
        if ((header.msg_flags & MSG_TRUNC) != 0 || segment > kMaxDatagram) {
            stats_.oversized++;
            continue;
        }
        std::span<uint8_t> bytes(batch.bytes.get() + i * batch.each, size);
        do {
            const size_t part = std::min(segment, bytes.size());
            stats_.received++;
            stats_.received_bytes += part;
            visit(bytes.first(part), path);
            bytes = bytes.subspan(part);
        } while (!bytes.empty());
    }
    return more;
}

IoResult UdpSocket::finish_send(ssize_t sent, size_t bytes, size_t packets) {
    if (sent >= 0) {
        stats_.sent += packets;
        stats_.sent_bytes += bytes;
        return {IoStatus::kDone, bytes, 0};
    }
    const int why = errno;
    if (why == EAGAIN || why == EWOULDBLOCK || why == ENOBUFS) {
        writable_ = why == ENOBUFS;  // that one is of a queue behind the socket: no edge comes
        stats_.send_blocked++;
        return {IoStatus::kWouldBlock, 0, why};
    }
    stats_.send_refused += packets;
    return {IoStatus::kFailed, 0, why};
}

IoResult UdpSocket::send_burst(const UdpPath& path, ByteSpan data, size_t segment_bytes) {
    Outgoing outgoing(path, family_, segment_bytes);
    if (!outgoing.reachable()) {
        stats_.send_refused++;
        return {IoStatus::kFailed, 0, EAFNOSUPPORT};
    }
    // The kernel only reads it.
    iovec part{const_cast<uint8_t*>(data.data()), data.size()};  // NOLINT
    const size_t packets =
        segment_bytes == 0 ? 1 : (data.size() + segment_bytes - 1) / segment_bytes;
    stats_.send_calls++;
    const ssize_t sent = sendmsg(fd_, &outgoing.with(part), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && segment_bytes > 0 &&
        (errno == EIO || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOPROTOOPT)) {
        // An old kernel, or a device that cannot make checksums. But EINVAL is said of one address,
        // too (a path with a small MTU, port 0), and no peer may decide for the others.
        gso_ = errno == EINVAL;
        return send_singly(path, data, segment_bytes);
    }
    return finish_send(sent, data.size(), packets);
}

// What was sent before the buffer was full counts as sent: the caller cannot take it back.
IoResult UdpSocket::send_singly(const UdpPath& path, ByteSpan data, size_t segment_bytes) {
    const size_t whole = data.size();
    IoResult result;
    while (!data.empty()) {
        const ByteSpan part = data.first(std::min(segment_bytes, data.size()));
        result = send_burst(path, part, 0);
        if (result.status != IoStatus::kDone) {
            break;
        }
        data = data.subspan(part.size());
    }
    const size_t sent = whole - data.size();
    return sent > 0 ? IoResult{IoStatus::kDone, sent, 0} : result;
}

IoResult UdpSocket::send(const UdpPath& path, ByteSpan data, size_t segment_bytes) {
    WEIR_DCHECK(data.size() <= kMaxBurstBytes);
    if (fd_ < 0) {
        return {IoStatus::kClosed, 0, 0};
    }
    if (segment_bytes == 0 || data.size() <= segment_bytes) {
        return send_burst(path, data, 0);
    }
    WEIR_DCHECK(data.size() <= segment_bytes * kMaxSegments);
    return gso_ ? send_burst(path, data, segment_bytes) : send_singly(path, data, segment_bytes);
}

Result<int> UdpSocket::lend() {
    const int copy = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) {
        return Error::from_errno(errno, "dup");
    }
    // Who reads without room for control messages takes a datagram that has some for a broken one.
    set_option(copy, SOL_SOCKET, SO_RXQ_OVFL, 0);
    set_option(copy, IPPROTO_IP, IP_PKTINFO, 0);
    if (local().family() == AF_INET6) {
        set_option(copy, IPPROTO_IPV6, IPV6_RECVPKTINFO, 0);
    }
    registration_.remove();
    return copy;
}

void UdpSocket::close() {
    registration_.remove();
    if (fd_ >= 0) {
        ::close(std::exchange(fd_, -1));
    }
    for (CoroutineState* waiter : {reader_, writer_}) {
        if (waiter != nullptr) {
            waiter->wake();
        }
    }
}

}  // namespace weir::io
