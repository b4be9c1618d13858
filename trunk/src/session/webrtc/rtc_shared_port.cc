#include "session/webrtc/rtc_shared_port.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "session/webrtc/rtc_transport.h"

namespace weir::session {
namespace {

uint64_t random_seed() {
    return uint64_t{random_u32(system_random())} << 32U | random_u32(system_random());
}

}  // namespace

RtcSharedPort::RtcSharedPort(RtcTransport& transport, net::ProcessDatagrams& others)
    : transport_(transport), others_(others), passing_(random_seed()) {
    others_.set_taker(this);
}

RtcSharedPort::~RtcSharedPort() {
    others_.set_taker(nullptr);
}

// ---- to other processes ----

std::optional<uint32_t> RtcSharedPort::elsewhere(const stun::MessageView& message) const {
    const std::optional<uint8_t> mark =
        ice::ufrag_mark(ice::split_username(message.username.value_or("")).local);
    return mark && *mark < others_.count() && *mark != others_.own()
               ? std::optional<uint32_t>(*mark)
               : std::nullopt;
}

net::ProcessPath RtcSharedPort::path_of(const ice::Path& path) const {
    const RtcUdpLink& link = *transport_.udp_link(path);
    return {link.bound(), link.local_ip(), path.remote};
}

bool RtcSharedPort::pass_stun(MonoTime now,
                              const stun::MessageView& message,
                              ByteSpan datagram,
                              const ice::Path& from) {
    if (!message.username) {
        return pass(now, datagram, from);  // an answer
    }
    const std::optional<uint32_t> process = elsewhere(message);
    if (!process) {
        return false;
    }
    if (passing_.take_check(now, from.remote, *process) == RtcPassing::Verdict::kLimited) {
        transport_.stats().pass_limited++;
        return true;
    }
    others_.pass(*process, path_of(from), datagram);
    transport_.stats().passed_on++;
    return true;
}

bool RtcSharedPort::pass(MonoTime now, ByteSpan datagram, const ice::Path& from) {
    uint32_t process = 0;
    switch (passing_.take_other(now, from.remote, process)) {
        case RtcPassing::Verdict::kUnknown: return false;
        case RtcPassing::Verdict::kLimited: transport_.stats().pass_limited++; return true;
        case RtcPassing::Verdict::kPass: break;
    }
    if (process == others_.own()) {
        return false;  // of a session here that has ended
    }
    others_.pass(process, path_of(from), datagram);
    transport_.stats().passed_on++;
    return true;
}

// ---- from other processes ----

void RtcSharedPort::on_passed(const net::ProcessPath& path, std::span<uint8_t> datagram) {
    if (const std::optional<uint32_t> link = transport_.link_at(path.bound, path.local)) {
        transport_.stats().taken_over++;
        transport_.on_passed_datagram(MonoClock::now(), datagram, {path.peer, *link});
    }
}

void RtcSharedPort::on_claimed(const net::ProcessPath& path, uint32_t process) {
    passing_.correct(path.peer, process);
    const std::optional<uint32_t> link = transport_.link_at(path.bound, path.local);
    if (link) {
        transport_.lose_path(MonoClock::now(), {path.peer, *link});
    }
}

void RtcSharedPort::on_passed_end() {
    transport_.settle(MonoClock::now());
}

// ---- sockets of peers ----

void RtcSharedPort::follow(RtcSession& session) {
    const ice::Path* path = session.ended() ? nullptr : session.proven_path();
    if (path != nullptr && RtcTransport::is_connection(*path)) {
        path = nullptr;
    }
    const auto found = peers_.find(&session);
    if (found == peers_.end() ? path == nullptr : path != nullptr && found->second->path == *path) {
        return;
    }
    close(session);
    if (path == nullptr) {
        return;
    }
    Peer& peer =
        *peers_.emplace(&session, std::make_unique<Peer>(*this, session, *path)).first->second;
    if (Error failed = open(peer)) {
        transport_.stats().peer_sockets_failed++;
        log::throttled(failures_, log::Level::kWarn,
                       "webrtc: no socket for a peer, whose datagrams may have to come by other "
                       "processes: {}",
                       failed.message());
    }
    others_.claim(path_of(*path));
}

Error RtcSharedPort::open(Peer& peer) {
    const net::ProcessPath path = path_of(peer.path);
    io::UdpOptions options;
    options.receive_buffer_bytes =
        peer.session.publishes() ? transport_.options().receive_buffer_bytes : 0;
    options.names_holder = false;
    WEIR_TRY_ASSIGN(peer.socket, transport_.udp_link(peer.path)->socket().connect_beside(
                                     {path.peer, path.local}, options));
    peer.socket->set_handler(&peer);  // what came until now is an edge that is still to come
    open_sockets_++;
    return {};
}

// In the reactor's turn, or that of the timers. Its path is that of the shared socket; a datagram
// of somebody else came before the socket was connected.
void RtcSharedPort::read(Peer& peer) {
    if (!peer.socket) {
        return;
    }
    const MonoTime now = MonoClock::now();
    const uint32_t link = peer.path.link;
    bool more = true;
    for (size_t i = 0; more && i < kBatchesPerTurn; i++) {
        more = peer.socket->receive([&](std::span<uint8_t> datagram, const io::UdpPath& path) {
            transport_.on_datagram(now, datagram, {path.peer, link});
        });
    }
    if (more) {
        more_.push_back(&peer.session);
        transport_.wake_timers();
    }
    transport_.settle(now);  // the peer may be gone
}

void RtcSharedPort::read_more() {
    for (const RtcSession* session : std::exchange(more_, {})) {
        const auto found = peers_.find(session);
        if (found != peers_.end()) {
            read(*found->second);
        }
    }
}

void RtcSharedPort::forget(const RtcSession& session) {
    close(session);
}

void RtcSharedPort::close(const RtcSession& session) {
    auto node = peers_.extract(&session);
    if (!node) {
        return;
    }
    if (node.mapped()->socket) {
        transport_.add_closed(node.mapped()->socket->stats());
        open_sockets_--;
    }
    gone_.push_back(std::move(node.mapped()));
}

}  // namespace weir::session
