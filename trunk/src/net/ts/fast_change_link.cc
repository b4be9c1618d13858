#include "net/ts/fast_change_link.h"

#include "io/socket_address.h"

namespace weir::net {
namespace {

Result<std::unique_ptr<io::UdpSocket>> bind(uint16_t port) {
    io::UdpOptions options;
    options.receive_buffer_bytes = FastChangeLink::kReceiveBuffer;
    options.polled = true;
    options.names_holder = false;
    return io::UdpSocket::bind(io::SocketAddress::of(NetAddress::from_v4({0, 0, 0, 0}, port)),
                               options);
}

}  // namespace

Result<FastChangeLink::Sockets> FastChangeLink::open_sockets(bool pair) {
    Sockets sockets;
    if (!pair) {
        WEIR_TRY_ASSIGN(sockets.first, bind(0));
        return sockets;
    }
    for (int i = 0; i < kPairTries; i++) {
        WEIR_TRY_ASSIGN(sockets.second, bind(0));
        const uint16_t media = sockets.second->local().port();
        if (media == UINT16_MAX) {
            continue;
        }
        auto messages = bind(static_cast<uint16_t>(media + 1));
        if (messages.ok()) {
            sockets.first = std::move(messages).value();
            return sockets;
        }
    }
    return make_error(ErrorCode::kBusy, "no two ports that follow each other are free");
}

Result<std::unique_ptr<FastChangeLink>> FastChangeLink::open(FastChangeTarget target,
                                                             const NetAddress& group,
                                                             OnUnicast on_unicast) {
    WEIR_TRY_ASSIGN(const NetAddress local, io::local_address_towards(target.server));
    WEIR_TRY_ASSIGN(Sockets sockets, open_sockets(target.kind == fcc::Kind::kHuawei));
    const NetAddress messages = local.with_port(sockets.first->local().port());
    std::unique_ptr<FastChangeLink> link(new FastChangeLink(
        std::move(target), group, messages, std::move(sockets), std::move(on_unicast)));
    link->change_.start(MonoClock::now());
    return link;
}

FastChangeLink::FastChangeLink(FastChangeTarget target,
                               const NetAddress& group,
                               const NetAddress& local,
                               Sockets sockets,
                               OnUnicast on_unicast)
    : sockets_(std::move(sockets)),
      on_unicast_(std::move(on_unicast)),
      change_(std::move(target), group, local, *this) {}

void FastChangeLink::send(const NetAddress& to, ByteSpan datagram, bool from_media) {
    io::UdpSocket& socket = from_media && sockets_.second ? *sockets_.second : *sockets_.first;
    (void)socket.send({.peer = to, .local = {}}, datagram);  // what is lost is sent again, or due
}

bool FastChangeLink::read(MonoTime now) {
    bool more = read_from(now, *sockets_.first);
    if (sockets_.second) {
        more = read_from(now, *sockets_.second) || more;
    }
    change_.handle_timeout(now);
    return more;
}

bool FastChangeLink::read_from(MonoTime now, io::UdpSocket& socket) {
    for (size_t i = 0; i < kBatchesPerTurn; i++) {
        if (!socket.receive([&](std::span<uint8_t> bytes, const io::UdpPath& path) {
                change_.feed(now, path.peer, bytes);
            })) {
            return false;
        }
    }
    return true;
}

}  // namespace weir::net
