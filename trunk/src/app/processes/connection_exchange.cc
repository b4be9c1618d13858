#include "app/processes/connection_exchange.h"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <unistd.h>

#include "app/processes/process_message.h"
#include "io/unix_socket.h"

namespace weir::app {
namespace {

// A datagram: how long the header is, the header (KIND, PEER, bytes that were answered), then what
// was answered and what was only heard.
constexpr size_t kMaxHeader = 1024;
constexpr size_t kMaxDatagram = sizeof(uint32_t) + kMaxHeader + ConnectionExchange::kMaxReplayBytes;

}  // namespace

Result<std::unique_ptr<ConnectionExchange>> ConnectionExchange::create(AddressOf address_of,
                                                                       uint32_t own) {
    WEIR_TRY_ASSIGN(io::OwnFd socket,
                    open_for_messages(address_of(own), "connections of other processes"));
    std::unique_ptr<ConnectionExchange> made(  // NOLINT: private constructor
        new ConnectionExchange(std::move(address_of), std::move(socket)));
    WEIR_TRY_ASSIGN(made->registration_, io::Registration::add(made->socket_.get(), *made));
    return made;
}

bool ConnectionExchange::give(uint32_t process,
                              std::string_view kind,
                              const io::TcpStream& stream,
                              const io::Replay& replay) {
    std::string header =
        ProcessMessage{std::string(kind),
                       {stream.peer().to_string(), std::to_string(replay.answered.size())}}
            .encode();
    auto size = static_cast<uint32_t>(header.size());
    // A unix socket is a tunnel's end, or another process: no connection of a client.
    if (stream.by_unix_socket() || size > kMaxHeader ||
        replay.answered.size() + replay.heard.size() > kMaxReplayBytes) {
        return false;
    }
    std::array<iovec, 4> parts{
        iovec{&size, sizeof size}, iovec{header.data(), header.size()},
        iovec{const_cast<uint8_t*>(replay.answered.data()), replay.answered.size()},
        iovec{const_cast<uint8_t*>(replay.heard.data()), replay.heard.size()}};
    Result<io::UnixAddress> to = io::UnixAddress::of(address_of_(process));
    if (!to.ok()) {
        return false;
    }
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_name = &to->raw;
    message.msg_namelen = to->size;
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const first = CMSG_FIRSTHDR(&message);
    const int fd = stream.fd();
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(first), &fd, sizeof fd);
    if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        refused_++;
        return false;
    }
    given_++;
    return true;
}

void ConnectionExchange::on_ready(uint8_t) {
    while (take_one()) {  // an edge comes for what is new only
    }
}

// False: nothing is there.
bool ConnectionExchange::take_one() {
    // Of all calls: nothing yields between a read and its use.
    static std::array<uint8_t, kMaxDatagram> bytes;
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
    Attached attached = take_attached(message);
    const bool trusted = attached.user && (*attached.user == ::geteuid() || *attached.user == 0);
    uint32_t header = 0;
    const auto size = static_cast<size_t>(got);
    if (!trusted || !attached.descriptor || size < sizeof header ||
        (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        log::throttled(strangers_, log::Level::kWarn,
                       "a connection from another process is refused: {}",
                       trusted ? "its datagram is broken" : "it is another user's");
        return true;
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header <= size - sizeof header) {
        const ByteSpan all(bytes.data() + sizeof header, size - sizeof header);
        take(as_text(all.first(header)), all.subspan(header), std::move(attached.descriptor));
    }
    return true;
}

void ConnectionExchange::take(std::string_view header, ByteSpan body, io::OwnFd connection) {
    const Result<ProcessMessage> message = ProcessMessage::decode(header);
    if (!message.ok() || message->words.size() != 2) {
        return;
    }
    const auto taker = takers_.find(message->verb);
    const Result<io::SocketAddress> peer = io::SocketAddress::parse(message->words[0]);
    const uint64_t answered = message->number(1).value_or(0);
    if (taker == takers_.end() || !peer.ok() || answered > body.size()) {
        return;
    }
    Result<std::unique_ptr<io::TcpStream>> stream =
        io::TcpStream::adopt(connection.release(), *peer);
    if (!stream.ok()) {
        return;
    }
    io::Replay replay;
    replay.answered.assign(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(answered));
    replay.heard.assign(body.begin() + static_cast<std::ptrdiff_t>(answered), body.end());
    (*stream)->replay(std::move(replay));
    taken_++;
    taker->second(std::move(*stream));
}

}  // namespace weir::app
