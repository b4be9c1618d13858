#include "app/processes/datagram_exchange.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "io/unix_socket.h"

namespace weir::app {
namespace {

// A message: whose it is, then for each datagram three addresses, its size and its bytes. With
// kClaim in place of the size it has none, and says that the peer is the sender's.
//
//     0         4
//    +---------+-----------------+-----------------+-----------------+------+-------
//    | process | bound: 16, 2, 2 | local: 16, 2, 2 | peer: 16, 2, 2  | size | bytes ...
//    +---------+-----------------+-----------------+-----------------+------+-------
constexpr size_t kAddressBytes = 20;
constexpr size_t kHeaderBytes = 3 * kAddressBytes + sizeof(uint16_t);
constexpr uint16_t kClaim = 0xffff;
constexpr int kSendBuffer = 1 << 20;

void write_address(ByteWriter& out, const NetAddress& address) {
    out.bytes(address.v6()).u16(address.port()).u16(address.scope());
}

NetAddress read_address(ByteReader& in) {
    NetAddress::V6 ip{};
    const ByteSpan bytes = in.take(ip.size());
    std::copy(bytes.begin(), bytes.end(), ip.begin());
    const uint16_t port = in.u16();
    return NetAddress::from_v6(ip, port, in.u16());
}

// Of all calls: nothing yields between a read and its use.
std::span<uint8_t> message_buffer() {
    static std::array<uint8_t, DatagramExchange::kMaxMessage> buffer;
    return buffer;
}

// Aligned as SRTP wants it.
std::span<uint8_t> datagram_buffer() {
    alignas(8) static std::array<uint8_t, io::UdpSocket::kMaxDatagram> buffer;
    return buffer;
}

}  // namespace

Result<std::unique_ptr<DatagramExchange>> DatagramExchange::create(AddressOf address_of,
                                                                   uint32_t own,
                                                                   uint32_t count) {
    WEIR_TRY_ASSIGN(io::OwnFd socket,
                    open_for_messages(address_of(own), "datagrams of other processes"));
    std::unique_ptr<DatagramExchange> made(  // NOLINT: private constructor
        new DatagramExchange(std::move(address_of), own, count, std::move(socket)));
    for (Waiting& waiting : made->waiting_) {
        waiting.socket = io::OwnFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!waiting.socket) {
            return Error::from_errno(errno, "socket");
        }
        ::setsockopt(waiting.socket.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
    }
    WEIR_TRY_ASSIGN(made->registration_, io::Registration::add(made->socket_.get(), *made));
    return made;
}

// ---- sending ----

void DatagramExchange::pass(uint32_t process,
                            const net::ProcessPath& path,
                            std::span<const uint8_t> bytes) {
    WEIR_DCHECK(process < count() && bytes.size() <= io::UdpSocket::kMaxDatagram);
    add(process, path, bytes, false);
}

void DatagramExchange::claim(const net::ProcessPath& path) {
    for (uint32_t i = 0; i < count(); i++) {
        if (i != own_) {
            add(i, path, {}, true);
        }
    }
}

void DatagramExchange::add(uint32_t process,
                           const net::ProcessPath& path,
                           ByteSpan bytes,
                           bool claims) {
    Waiting& waiting = waiting_[process];
    if (waiting.message.size() + kHeaderBytes + bytes.size() > kMaxMessage) {
        send(process);
    }
    ByteWriter out(waiting.message);
    if (waiting.message.empty()) {
        out.u32(own_);
    }
    for (const NetAddress* address : {&path.bound, &path.local, &path.peer}) {
        write_address(out, *address);
    }
    out.u16(claims ? kClaim : static_cast<uint16_t>(bytes.size())).bytes(bytes);
    waiting.datagrams += claims ? 0 : 1;
    any_waits_ = true;
}

void DatagramExchange::flush() {
    if (!any_waits_) {
        return;
    }
    for (uint32_t i = 0; i < count(); i++) {
        if (!waiting_[i].message.empty()) {
            send(i);
        }
    }
    any_waits_ = false;
}

void DatagramExchange::send(uint32_t process) {
    Waiting& waiting = waiting_[process];
    Result<io::UnixAddress> to = io::UnixAddress::of(address_of_(process));
    const bool sent =
        to.ok() && ::sendto(waiting.socket.get(), waiting.message.data(), waiting.message.size(),
                            MSG_NOSIGNAL | MSG_DONTWAIT,
                            reinterpret_cast<const sockaddr*>(&to->raw), to->size) >= 0;
    lost_ += sent ? 0 : waiting.datagrams;
    waiting.message.clear();
    waiting.datagrams = 0;
}

// ---- receiving ----

void DatagramExchange::on_ready(uint8_t) {
    bool any = false;
    while (take_one()) {  // an edge comes for what is new only; the queue is short
        any = true;
    }
    if (any && taker_ != nullptr) {
        taker_->on_passed_end();
    }
}

// False: nothing is there.
bool DatagramExchange::take_one() {
    const std::span<uint8_t> bytes = message_buffer();
    iovec part{bytes.data(), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(ucred))>
        control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0) {
        return errno == EINTR;
    }
    const Attached attached = take_attached(message);
    if (!attached.user || (*attached.user != ::geteuid() && *attached.user != 0)) {
        log::throttled(strangers_, log::Level::kWarn,
                       "datagrams from another process are refused: it is another user's");
        return true;
    }
    take(ByteSpan(bytes).first(static_cast<size_t>(got)));
    return true;
}

void DatagramExchange::take(ByteSpan message) {
    ByteReader in(message);
    const uint32_t process = in.u32();
    while (taker_ != nullptr && in.ok() && !in.empty() && process < count()) {
        net::ProcessPath path;
        path.bound = read_address(in);
        path.local = read_address(in);
        path.peer = read_address(in);
        const uint16_t size = in.u16();
        if (size == kClaim) {
            if (in.ok()) {
                taker_->on_claimed(path, process);
            }
            continue;
        }
        const ByteSpan bytes = in.take(size);
        if (!in.ok() || bytes.size() > datagram_buffer().size()) {
            return;
        }
        const std::span<uint8_t> datagram = datagram_buffer().first(bytes.size());
        std::copy(bytes.begin(), bytes.end(), datagram.begin());
        taker_->on_passed(path, datagram);
    }
}

}  // namespace weir::app
