#include "session/rtsp/rtsp_udp.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "io/deadline.h"
#include "io/socket_address.h"

namespace weir::session {
namespace {

constexpr size_t kBatchesPerSlice = 8;  // of datagrams, then others have a turn

}  // namespace

// ---- a track ----

RtspUdpTrack::~RtspUdpTrack() {
    udp_.remove(*this);
}

rtsp::PortPair RtspUdpTrack::server_ports() const {
    return {ways_[kRtp].port->socket->local().port(), ways_[kRtcp].port->socket->local().port()};
}

io::IoResult RtspUdpTrack::send(Way way, ByteSpan data, size_t segment_bytes) {
    const Path& path = ways_[way];
    return path.port->socket ? path.port->socket->send(path.path, data, segment_bytes)
                             : io::IoResult{io::IoStatus::kClosed, 0, 0};
}

// ---- ports ----

RtspUdp::RtspUdp() : sides_{Side(*this, RtspUdpTrack::kRtp), Side(*this, RtspUdpTrack::kRtcp)} {}

RtspUdp::~RtspUdp() = default;

Error RtspUdp::Side::serve(std::unique_ptr<io::UdpSocket> socket) {
    auto port = std::make_unique<RtspUdpPort>();
    port->socket = std::move(socket);
    RtspUdpPort& at = *port;
    WEIR_TRY_ASSIGN(port->coroutine, io::Coroutine::spawn("rtsp udp", io::StackSize::kNormal,
                                                          [this, &at] { udp_.receive(at, way_); }));
    ports.push_back(std::move(port));
    return {};
}

void RtspUdp::Side::retire(const io::UdpSocket& socket) {
    for (const auto& port : ports) {
        port->retired = port->retired || port->socket.get() == &socket;
    }
}

io::UdpSocket* RtspUdp::Side::revive(const io::SocketAddress& bound) {
    for (const auto& port : ports) {
        if (port->retired && port->socket->local().net_address() == bound.net_address()) {
            port->retired = false;
            return port->socket.get();
        }
    }
    return nullptr;
}

size_t RtspUdp::Side::retired() const {
    return static_cast<size_t>(
        std::ranges::count_if(ports, [](const auto& port) { return port->retired; }));
}

void RtspUdp::Side::close_unused() {
    for (size_t i = ports.size(); i > 0; i--) {
        if (!ports[i - 1]->retired || ports[i - 1]->users > 0) {
            continue;
        }
        const std::unique_ptr<RtspUdpPort> port = std::move(ports[i - 1]);
        ports.erase(ports.begin() + static_cast<std::ptrdiff_t>(i - 1));
        port->coroutine.interrupt();
        port->coroutine.join();
    }
}

void RtspUdp::Side::stop() {
    for (const auto& port : ports) {
        port->coroutine.interrupt();
    }
    for (const auto& port : ports) {
        port->coroutine.join();
    }
}

RtspUdpPort* RtspUdp::Side::port_for(const io::SocketAddress& local) const {
    RtspUdpPort* found = nullptr;
    for (const auto& port : ports) {
        const io::SocketAddress bound = port->socket->local();
        if (port->retired) {
            continue;
        }
        if (bound.net_address().same_ip(local.net_address())) {
            return port.get();
        }
        const bool both = bound.family() == AF_INET6 || local.net_address().is_v4();
        if (bound.is_any() && both) {
            found = port.get();
        }
    }
    return found;
}

void RtspUdp::stop() {
    for (Side& side : sides_) {
        side.stop();
    }
}

Result<io::UdpSocket*> RtspUdp::group_port(const NetAddress& from) {
    if (const auto found = group_ports_.find(from); found != group_ports_.end()) {
        return found->second.get();
    }
    if (group_ports_.size() >= kMaxGroupPorts) {
        return make_error(ErrorCode::kFull, "multicast leaves by too many addresses of this host");
    }
    WEIR_TRY_ASSIGN(const io::SocketAddress address, io::SocketAddress::parse(from.to_string()));
    io::UdpOptions options;
    options.shared_port = true;  // with receivers on this machine
    options.names_holder = false;
    WEIR_TRY_ASSIGN(std::unique_ptr<io::UdpSocket> socket, io::UdpSocket::bind(address, options));
    socket->set_multicast_ttl(multicast_ttl_);
    return group_ports_.emplace(from, std::move(socket)).first->second.get();
}

void RtspUdp::set_multicast_ttl(uint8_t ttl) {
    multicast_ttl_ = ttl;
    for (const auto& [from, socket] : group_ports_) {
        socket->set_multicast_ttl(ttl);
    }
}

io::UdpStats RtspUdp::udp_stats() const {
    io::UdpStats sum;
    const auto add = [&sum](const io::UdpStats& each) {
        sum.received += each.received;
        sum.received_bytes += each.received_bytes;
        sum.sent += each.sent;
        sum.sent_bytes += each.sent_bytes;
        sum.send_calls += each.send_calls;
        sum.kernel_drops += each.kernel_drops;
        sum.oversized += each.oversized;
        sum.send_refused += each.send_refused;
        sum.send_blocked += each.send_blocked;
    };
    for (const Side& side : sides_) {
        for (const auto& port : side.ports) {
            add(port->socket->stats());
        }
    }
    for (const auto& [from, socket] : group_ports_) {
        add(socket->stats());
    }
    return sum;
}

// ---- tracks ----

std::unique_ptr<RtspUdpTrack> RtspUdp::add_track(const io::SocketAddress& peer,
                                                 const io::SocketAddress& local,
                                                 const rtsp::PortPair& client_ports,
                                                 size_t index) {
    RtspUdpPort* const rtp = sides_[RtspUdpTrack::kRtp].port_for(local);
    RtspUdpPort* const rtcp = sides_[RtspUdpTrack::kRtcp].port_for(local);
    if (rtp == nullptr || rtcp == nullptr) {
        return nullptr;
    }
    auto track = std::make_unique<RtspUdpTrack>(*this, peer.net_address().with_port(0), index);
    for (const auto& [way, port, number] :
         {std::tuple(RtspUdpTrack::kRtp, rtp, client_ports.rtp),
          std::tuple(RtspUdpTrack::kRtcp, rtcp, client_ports.rtcp)}) {
        bind(*track, way, *port, number);
        // A machine with several addresses answers by the one that the client knows.
        if (port->socket->local().is_any()) {
            track->ways_[way].path.local = local.net_address().with_port(0);
        }
    }
    return track;
}

void RtspUdp::bind(RtspUdpTrack& track, Way way, RtspUdpPort& port, uint16_t client_port) {
    RtspUdpTrack::Path& path = track.ways_[way];
    path.port = &port;
    port.users++;
    path.path.peer = track.host_.with_port(client_port);
    // Two behind one NAT may say the same: the second is known when its datagrams come.
    sides_[way].by_peer.emplace(path.path.peer, &track);
    sides_[way].unproven[track.host_].push_back(&track);
}

void RtspUdp::forget_unproven(RtspUdpTrack& track, Way way) {
    auto& unproven = sides_[way].unproven;
    if (const auto found = unproven.find(track.host_); found != unproven.end()) {
        std::erase(found->second, &track);
        if (found->second.empty()) {
            unproven.erase(found);
        }
    }
}

void RtspUdp::remove(RtspUdpTrack& track) {
    for (const Way way : {RtspUdpTrack::kRtp, RtspUdpTrack::kRtcp}) {
        RtspUdpTrack::Path& path = track.ways_[way];
        if (path.port == nullptr) {
            continue;
        }
        path.port->users--;
        forget_unproven(track, way);
        auto& by_peer = sides_[way].by_peer;
        if (const auto found = by_peer.find(path.path.peer);
            found != by_peer.end() && found->second == &track) {
            by_peer.erase(found);
        }
    }
}

// ---- what comes ----

void RtspUdp::receive(RtspUdpPort& port, Way way) {
    for (;;) {
        if (port.socket->wait_readable(io::Deadline::forever())) {
            return;  // interrupted: by stop() or close_unused()
        }
        const MonoTime now = MonoClock::now();
        for (size_t i = 0; i < kBatchesPerSlice; i++) {
            const bool more =
                port.socket->receive([&](std::span<uint8_t> datagram, const io::UdpPath& from) {
                    on_datagram(now, way, datagram, from);
                });
            if (!more) {
                break;
            }
        }
        io::yield();
    }
}

void RtspUdp::on_datagram(MonoTime now, Way way, ByteSpan datagram, const io::UdpPath& from) {
    RtspUdpTrack* const track = find(now, way, datagram, from);
    if (track == nullptr) {
        stats_.strangers++;
        return;
    }
    if (track->owner_ == nullptr) {
        return;
    }
    if (way == RtspUdpTrack::kRtp) {
        track->owner_->on_udp_rtp(now, track->index_, datagram);
    } else {
        track->owner_->on_udp_rtcp(now, track->index_, datagram);
    }
}

RtspUdpTrack* RtspUdp::find(MonoTime now, Way way, ByteSpan datagram, const io::UdpPath& from) {
    Side& side = sides_[way];
    if (const auto known = side.by_peer.find(from.peer); known != side.by_peer.end()) {
        RtspUdpTrack& track = *known->second;
        if (!track.ways_[way].proven) {
            track.ways_[way].proven = true;
            forget_unproven(track, way);
        }
        return &track;
    }
    const auto host = side.unproven.find(from.peer.with_port(0));
    if (host == side.unproven.end()) {
        return nullptr;
    }
    for (RtspUdpTrack* track : host->second) {
        const bool fits =
            track->owner_ != nullptr &&
            track->owner_->may_move(now, track->index_, way == RtspUdpTrack::kRtp, datagram);
        if (!fits) {
            continue;
        }
        RtspUdpTrack::Path& path = track->ways_[way];
        if (const auto said = side.by_peer.find(path.path.peer);
            said != side.by_peer.end() && said->second == track) {
            side.by_peer.erase(said);
        }
        path.path.peer = from.peer;
        path.proven = true;
        side.by_peer.emplace(from.peer, track);
        forget_unproven(*track, way);
        stats_.moved++;
        return track;
    }
    return nullptr;
}

}  // namespace weir::session
