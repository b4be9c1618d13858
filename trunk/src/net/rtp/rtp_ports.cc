#include "net/rtp/rtp_ports.h"

#include <utility>

#include "base/random.h"
#include "io/socket_address.h"

namespace weir::net {
namespace {

Result<std::unique_ptr<io::UdpSocket>> bind_port(const NetAddress& address,
                                                 bool shared,
                                                 bool bursts) {
    WEIR_TRY_ASSIGN(const io::SocketAddress to, io::SocketAddress::parse(address.to_string()));
    io::UdpOptions options;
    options.receive_buffer_bytes = RtpPorts::kReceiveBuffer;
    options.shared_port = shared;
    options.receive_bursts = bursts;
    options.names_holder = false;
    return io::UdpSocket::bind(to, options);
}

}  // namespace

RtpPorts::RtpPorts(size_t track, RtpPortsOwner& owner) : track_(track), owner_(owner) {
    both_[0].ports = this;
    both_[1].ports = this;
    both_[1].rtcp = true;
}

Result<std::unique_ptr<RtpPorts>> RtpPorts::bind(const NetAddress& local,
                                                 size_t track,
                                                 RtpPortsOwner& owner,
                                                 bool bursts) {
    for (int i = 0; i < kPairTries; i++) {
        WEIR_TRY_ASSIGN(std::unique_ptr<io::UdpSocket> one,
                        bind_port(local.with_port(0), false, bursts));
        const uint16_t port = one->local().port();
        const bool is_rtp = port % 2 == 0;
        const auto neighbour = static_cast<uint16_t>(is_rtp ? port + 1 : port - 1);
        Result<std::unique_ptr<io::UdpSocket>> other =
            bind_port(local.with_port(neighbour), false, bursts);
        if (other.ok()) {
            std::unique_ptr<RtpPorts> made(new RtpPorts(track, owner));
            made->both_[is_rtp ? 0 : 1].socket = std::move(one);
            made->both_[is_rtp ? 1 : 0].socket = std::move(*other);
            return made;
        }
        if (other.error().code() != ErrorCode::kBusy) {
            return other.take_error();
        }
    }
    return make_error(ErrorCode::kBusy, "no pair of neighbouring UDP ports is free");
}

Result<std::unique_ptr<RtpPorts>> RtpPorts::bind_in(const PortRange& range,
                                                    const NetAddress& local,
                                                    size_t track,
                                                    RtpPortsOwner& owner) {
    const uint32_t first = (range.first + 1U) / 2;  // pairs, by the half of their even port
    const uint32_t count = range.last > range.first ? (range.last - 1U) / 2 + 1 - first : 0;
    const uint32_t begin = count == 0 ? 0 : random_u32(system_random()) % count;
    for (uint32_t i = 0; i < count; i++) {
        const auto port = static_cast<uint16_t>(2 * (first + (begin + i) % count));
        Result<std::unique_ptr<io::UdpSocket>> one = bind_port(local.with_port(port), false, false);
        Result<std::unique_ptr<io::UdpSocket>> two =
            one.ok() ? bind_port(local.with_port(static_cast<uint16_t>(port + 1)), false, false)
                     : make_error(ErrorCode::kBusy, "");
        if (one.ok() && two.ok()) {
            std::unique_ptr<RtpPorts> made(new RtpPorts(track, owner));
            made->both_[0].socket = std::move(*one);
            made->both_[1].socket = std::move(*two);
            return made;
        }
        for (Result<std::unique_ptr<io::UdpSocket>>* each : {&one, &two}) {
            if (!each->ok() && each->error().code() != ErrorCode::kBusy) {
                return each->take_error();
            }
        }
    }
    return make_error(ErrorCode::kBusy, "no pair of UDP ports from {} to {} is free", range.first,
                      range.last);
}

Result<std::unique_ptr<RtpPorts>> RtpPorts::join(const NetAddress& group,
                                                 const rtsp::PortPair& ports,
                                                 const NetAddress& local,
                                                 const NetAddress& source,
                                                 size_t track,
                                                 RtpPortsOwner& owner) {
    std::unique_ptr<RtpPorts> made(new RtpPorts(track, owner));
    for (Port& port : made->both_) {
        const uint16_t number = port.rtcp ? ports.rtcp : ports.rtp;
        WEIR_TRY_ASSIGN(port.socket, bind_port(group.with_port(number), true, false));
        WEIR_TRY(port.socket->join(group, local, source));
    }
    return made;
}

rtsp::PortPair RtpPorts::ports() const {
    return {both_[0].socket->local().port(), both_[1].socket->local().port()};
}

void RtpPorts::listen() {
    for (Port& port : both_) {
        port.socket->set_handler(&port);
        port.on_ready(io::kReadable);  // the edge for what is there already is past
    }
}

void RtpPorts::Port::on_ready(uint8_t ready) {
    if ((ready & io::kReadable) != 0 && ports->read(*this)) {
        ports->owner_.on_more_datagrams();
    }
}

bool RtpPorts::read(Port& port) {
    for (size_t i = 0; i < kBatchesPerTurn; i++) {
        const bool more =
            port.socket->receive([&](std::span<uint8_t> bytes, const io::UdpPath& path) {
                owner_.on_datagram(track_, port.rtcp, bytes, path.peer);
            });
        if (!more) {
            return false;
        }
    }
    return true;
}

bool RtpPorts::read_more() {
    bool more = false;
    for (Port& port : both_) {
        more = read(port) || more;
    }
    return more;
}

void RtpPorts::send(bool rtcp, const NetAddress& to, ByteSpan bytes) {
    (void)both_[rtcp ? 1 : 0].socket->send({to, {}}, bytes);
}

}  // namespace weir::net
