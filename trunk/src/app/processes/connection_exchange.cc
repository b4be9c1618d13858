#include "app/processes/connection_exchange.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/processes/process_message.h"
#include "base/bytes.h"
#include "io/socket_address.h"
#include "io/tcp.h"
#include "io/unix_socket.h"

namespace weir::app {
namespace {

// A datagram: how long the header is, the header (KIND, PEER, bytes that were answered, and of what
// is inside of a connection the address that the client connected to), then what was answered and
// what was only heard.
constexpr size_t kMaxHeader = 1024;
constexpr size_t kMaxDatagram = sizeof(uint32_t) + kMaxHeader + ConnectionExchange::kMaxReplayBytes;
constexpr size_t kWords = 2;
constexpr size_t kWordsInside = 3;

}  // namespace

// A socket that is connected to that of the other process: it becomes writable when the other one
// has taken what waited.
class ConnectionExchange::Way final : private io::EventHandler {
  public:
    static Result<std::unique_ptr<Way>> open(const std::string& address, Stats& stats) {
        WEIR_TRY_ASSIGN(const io::UnixAddress to, io::UnixAddress::of(address));
        io::OwnFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!socket) {
            return Error::from_errno(errno, "socket");
        }
        if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.raw), to.size) != 0) {
            return Error::from_errno(errno, "connect to " + address);
        }
        std::unique_ptr<Way> way(new Way(std::move(socket), stats));  // NOLINT: private constructor
        WEIR_TRY_ASSIGN(way->registration_, io::Registration::add(way->socket_.get(), *way));
        return way;
    }

    ~Way() {
        registration_.remove();
        stats_.lost += waiting_.size();
    }

    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;

    enum class Sent : uint8_t { kDone, kFull, kGone };

    // The parts of a datagram; those behind come after those that wait.
    Sent give(std::span<iovec> parts, int fd) {
        Sent sent = waiting_.empty() ? send(parts, fd) : Sent::kFull;
        if (sent == Sent::kFull && wait(parts, fd)) {
            stats_.waited++;
            sent = Sent::kDone;
        }
        return sent;
    }

  private:
    struct Waiting {
        Bytes bytes;
        io::OwnFd connection;
    };

    Way(io::OwnFd socket, Stats& stats) : socket_(std::move(socket)), stats_(stats) {}

    void on_ready(uint8_t ready) override {
        if ((ready & (io::kWritable | io::kHangup | io::kFault)) == 0) {
            return;
        }
        while (!waiting_.empty()) {
            Waiting& first = waiting_.front();
            iovec part{first.bytes.data(), first.bytes.size()};
            const Sent sent = send({&part, 1}, first.connection.get());
            if (sent == Sent::kFull) {
                return;
            }
            stats_.lost += sent == Sent::kGone ? 1 : 0;
            bytes_ -= first.bytes.size();
            waiting_.pop_front();
        }
    }

    Sent send(std::span<iovec> parts, int fd) {
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = parts.size();
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* const first = CMSG_FIRSTHDR(&message);
        first->cmsg_level = SOL_SOCKET;
        first->cmsg_type = SCM_RIGHTS;
        first->cmsg_len = CMSG_LEN(sizeof fd);
        std::memcpy(CMSG_DATA(first), &fd, sizeof fd);
        ssize_t sent = 0;
        do {
            sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        } while (sent < 0 && errno == EINTR);
        return sent >= 0 ? Sent::kDone : errno == EAGAIN ? Sent::kFull : Sent::kGone;
    }

    bool wait(std::span<const iovec> parts, int fd) {
        size_t size = 0;
        for (const iovec& part : parts) {
            size += part.iov_len;
        }
        if (waiting_.size() >= kMaxWaiting || bytes_ + size > kMaxWaitingBytes) {
            return false;
        }
        Waiting last;
        last.connection = io::OwnFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
        if (!last.connection) {
            return false;
        }
        last.bytes.reserve(size);
        for (const iovec& part : parts) {
            const auto* const begin = static_cast<const uint8_t*>(part.iov_base);
            last.bytes.insert(last.bytes.end(), begin, begin + part.iov_len);
        }
        bytes_ += size;
        waiting_.push_back(std::move(last));
        return true;
    }

    io::OwnFd socket_;
    io::Registration registration_;
    std::deque<Waiting> waiting_;
    size_t bytes_ = 0;  // of those that wait
    Stats& stats_;
};

ConnectionExchange::ConnectionExchange(AddressOf address_of, io::OwnFd socket)
    : address_of_(std::move(address_of)), socket_(std::move(socket)) {}

ConnectionExchange::~ConnectionExchange() {
    registration_.remove();
}

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
    // A unix socket is a tunnel's end, or another process: no connection of a client.
    const bool given = !stream.by_unix_socket() &&
                       send(process,
                            {std::string(kind),
                             {stream.peer().to_string(), std::to_string(replay.answered.size())}},
                            stream, replay);
    (given ? stats_.given : stats_.refused)++;
    return given;
}

bool ConnectionExchange::give_inside(uint32_t process,
                                     std::string_view kind,
                                     const io::TcpStream& inside,
                                     const io::SocketAddress& local,
                                     const io::Replay& replay) {
    const bool given = send(
        process,
        {std::string(kind),
         {inside.peer().to_string(), std::to_string(replay.answered.size()), local.to_string()}},
        inside, replay);
    stats_.refused += given ? 0 : 1;
    return given;
}

bool ConnectionExchange::send(uint32_t process,
                              const ProcessMessage& message,
                              const io::TcpStream& stream,
                              const io::Replay& replay) {
    std::string header = message.encode();
    auto size = static_cast<uint32_t>(header.size());
    if (size > kMaxHeader || replay.answered.size() + replay.heard.size() > kMaxReplayBytes) {
        return false;
    }
    std::array<iovec, 4> parts{
        iovec{&size, sizeof size}, iovec{header.data(), header.size()},
        iovec{const_cast<uint8_t*>(replay.answered.data()), replay.answered.size()},
        iovec{const_cast<uint8_t*>(replay.heard.data()), replay.heard.size()}};
    std::unique_ptr<Way>& way = ways_[process];
    // The way to a process that was begun anew ends at the one before it.
    for (int tries = 0; tries < 2; tries++) {
        if (!way) {
            Result<std::unique_ptr<Way>> opened = Way::open(address_of_(process), stats_);
            if (!opened.ok()) {
                return false;
            }
            way = std::move(*opened);
        }
        const Way::Sent sent = way->give(parts, stream.fd());
        if (sent != Way::Sent::kGone) {
            return sent == Way::Sent::kDone;
        }
        way.reset();
    }
    return false;
}

void ConnectionExchange::give_up(uint32_t process) {
    ways_.erase(process);
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
    if (!message.ok() || message->words.size() < kWords || message->words.size() > kWordsInside) {
        return;
    }
    const bool is_inside = message->words.size() == kWordsInside;
    const auto taker = takers_.find(message->verb);
    const auto inside_taker = inside_takers_.find(message->verb);
    const Result<io::SocketAddress> peer = io::SocketAddress::parse(message->words[0]);
    const uint64_t answered = message->number(1).value_or(0);
    const bool wanted = is_inside ? inside_taker != inside_takers_.end() : taker != takers_.end();
    if (!wanted || !peer.ok() || answered > body.size()) {
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
    stats_.taken++;
    if (!is_inside) {
        taker->second(std::move(*stream));
        return;
    }
    const Result<io::SocketAddress> local =
        io::SocketAddress::parse(message->words[kWordsInside - 1]);
    inside_taker->second(std::move(*stream), local.ok() ? *local : io::SocketAddress());
}

}  // namespace weir::app
