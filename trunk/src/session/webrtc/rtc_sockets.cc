// The sockets of RtcTransport: UDP ports and TCP listeners that come and go while it runs, and the
// numbers of the ways to peers.
#include <algorithm>

#include "base/log.h"
#include "io/deadline.h"
#include "session/webrtc/rtc_tcp.h"
#include "session/webrtc/rtc_transport.h"

namespace weir::session {
namespace {

constexpr size_t kBatchesPerSlice = 16;

void add_stats(io::UdpStats& sum, const io::UdpStats& one) {
    sum.received += one.received;
    sum.received_bytes += one.received_bytes;
    sum.sent += one.sent;
    sum.sent_bytes += one.sent_bytes;
    sum.send_calls += one.send_calls;
    sum.kernel_drops += one.kernel_drops;
    sum.oversized += one.oversized;
    sum.send_refused += one.send_refused;
    sum.send_blocked += one.send_blocked;
}

}  // namespace

Error RtcTransport::serve(std::unique_ptr<io::UdpSocket> socket) {
    auto port = std::make_unique<RtcUdpPort>();
    port->socket = std::move(socket);
    io::UdpSocket& added = *port->socket;
    WEIR_TRY_ASSIGN(port->reader, io::Coroutine::spawn("rtc udp", io::StackSize::kNormal,
                                                       [this, &added] { receive(added); }));
    sockets_.push_back(std::move(port));
    return {};
}

Error RtcTransport::serve(std::unique_ptr<io::TcpListener> listener,
                          std::shared_ptr<const net::Ingress> ingress) {
    return acceptors_.serve(std::move(listener), std::move(ingress));
}

// ---- links ----

uint32_t RtcTransport::link_for(io::UdpSocket& socket, const NetAddress& local) {
    size_t number = udp_links_.size();
    for (size_t i = udp_links_.size(); i > 0; i--) {
        if (!udp_links_[i - 1]) {
            number = i - 1;
        } else if (udp_links_[i - 1]->is(socket, local)) {
            return static_cast<uint32_t>(i - 1);
        }
    }
    if (number == kMaxUdpLinks) {
        return 0;  // a machine with so many addresses: by the route, as if it had one
    }
    if (number == udp_links_.size()) {
        udp_links_.emplace_back();
    }
    udp_links_[number] = std::make_unique<RtcUdpLink>(socket, local);
    links_[number] = udp_links_[number].get();
    return static_cast<uint32_t>(number);
}

uint32_t RtcTransport::add_link(RtcLink& link) {
    if (free_links_.empty()) {
        links_.push_back(&link);
        return static_cast<uint32_t>(links_.size() - 1);
    }
    const uint32_t number = free_links_.back();
    free_links_.pop_back();
    links_[number] = &link;
    return number;
}

// Its session hears of it before the number is another connection's.
void RtcTransport::remove_link(const ice::Path& path) {
    links_[path.link] = nullptr;
    if (RtcSession* const session = paths_.owner(path)) {
        session->forget_link(path.link);
        touch(*session);
        settle(MonoClock::now());
    }
    free_links_.push_back(path.link);
}

RtcLink* RtcTransport::link_of(const ice::Path& path) const {
    return path.link < links_.size() ? links_[path.link] : nullptr;
}

// ---- one port of all processes ----

void RtcTransport::share(net::ProcessDatagrams& others) {
    shared_ = std::make_unique<RtcSharedPort>(*this, others);
}

std::optional<uint32_t> RtcTransport::elsewhere(ByteSpan datagram) const {
    stun::MessageView message;
    const bool is_check =
        shared_ && stun::MessageView::parse(datagram, message) == stun::ParseStatus::kDone;
    return is_check ? shared_->elsewhere(message) : std::nullopt;
}

std::optional<uint32_t> RtcTransport::link_at(const NetAddress& bound, const NetAddress& local) {
    for (const auto& port : sockets_) {
        if (const io::SocketAddress address = port->socket->local();
            address.net_address() == bound) {
            return link_for(*port->socket, local);
        }
    }
    return std::nullopt;
}

void RtcTransport::lose_path(MonoTime now, const ice::Path& path) {
    if (RtcSession* const owner = paths_.owner(path)) {
        paths_.remove(path, *owner);
        owner->on_path_lost(now, path);
    }
}

void RtcTransport::add_closed(const io::UdpStats& stats) {
    add_stats(closed_udp_, stats);
}

// ---- sockets that go ----

size_t RtcTransport::retired() const {
    return static_cast<size_t>(std::ranges::count_if(
        sockets_, [](const auto& port) { return port->retired.has_value(); }));
}

void RtcTransport::retire(const io::UdpSocket& socket) {
    for (const auto& port : sockets_) {
        if (port->socket.get() == &socket && !port->retired) {
            port->retired = MonoClock::now();
            timer_signal_.notify_one();
        }
    }
}

io::UdpSocket* RtcTransport::revive(const io::SocketAddress& bound) {
    for (const auto& port : sockets_) {
        if (port->retired && port->socket->local().to_string() == bound.to_string()) {
            port->retired.reset();
            return port->socket.get();
        }
    }
    return nullptr;
}

bool RtcTransport::is_used(const io::UdpSocket& socket) const {
    return paths_.any_link([&](uint32_t link) {
        return link < udp_links_.size() && udp_links_[link] && udp_links_[link]->uses(socket);
    });
}

// Yields. A session that was made before may still be on its way for the time that it has to
// connect.
void RtcTransport::close_retired(MonoTime now) {
    for (size_t i = 0; i < sockets_.size();) {
        const RtcUdpPort& port = *sockets_[i];
        const bool settled = port.retired && (sessions_.empty() ||
                                              now - *port.retired > options_.ice.connect_timeout);
        if (!settled || is_used(*port.socket)) {
            i++;
            continue;
        }
        const std::unique_ptr<RtcUdpPort> going = std::move(sockets_[i]);
        sockets_.erase(sockets_.begin() + static_cast<std::ptrdiff_t>(i));
        log::info("udp://{} is closed: nobody uses it any more",
                  going->socket->local().to_string());
        close(*going);
    }
}

// Yields. Nobody's path leads through it any more, but a session may remember one.
void RtcTransport::close(RtcUdpPort& port) {
    for (size_t i = 0; i < udp_links_.size(); i++) {
        if (udp_links_[i] && udp_links_[i]->uses(*port.socket)) {
            for (auto& [id, entry] : sessions_) {
                entry.session->forget_link(static_cast<uint32_t>(i));
                touch(*entry.session);
            }
            links_[i] = nullptr;
            udp_links_[i].reset();
        }
    }
    settle_touched(MonoClock::now());
    add_stats(closed_udp_, port.socket->stats());
    port.socket->close();  // the port is free before anybody else runs
    port.reader.interrupt();
    port.reader.join();
}

void RtcTransport::serve_tcp(std::unique_ptr<io::TcpStream> stream,
                             const std::shared_ptr<const net::Ingress>& ingress) {
    if (stopping_ || tcp_connections_ >= options_.max_tcp_connections ||
        !services_.connections.take()) {
        stats_.tcp_refused++;
        return;
    }
    // std::function wants copyable captures.
    auto connection = std::make_shared<RtcTcpConnection>(*this, std::move(stream));
    tcp_connections_++;
    const Error failed =
        tasks_.spawn("rtc tcp", io::StackSize::kNormal, [this, connection, ingress] {
            if (connection->enter(ingress.get())) {
                connection->run(add_link(*connection));
                remove_link(connection->path());
            }
            tcp_connections_--;
            services_.connections.give_back();
        });
    if (failed) {
        tcp_connections_--;
        services_.connections.give_back();
        stats_.tcp_refused++;
        return;
    }
    stats_.tcp_accepted++;
}

void RtcTransport::receive(io::UdpSocket& socket) {
    io::set_log_id({});
    size_t batches = 0;
    while (!socket.wait_readable(io::Deadline::forever())) {
        const MonoTime now = MonoClock::now();
        socket.receive([&](std::span<uint8_t> datagram, const io::UdpPath& path) {
            on_datagram(now, datagram, {path.peer, link_for(socket, path.local)});
        });
        settle(now);
        if (++batches % kBatchesPerSlice == 0) {
            io::yield();
        }
    }
}

io::UdpStats RtcTransport::udp_stats() const {
    io::UdpStats sum = closed_udp_;
    for (const auto& port : sockets_) {
        add_stats(sum, port->socket->stats());
    }
    if (shared_) {
        shared_->visit_stats([&sum](const io::UdpStats& stats) { add_stats(sum, stats); });
    }
    return sum;
}

}  // namespace weir::session
