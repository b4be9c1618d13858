#include "net/ts/group_receiver.h"

#include <utility>

#include <sys/socket.h>

#include "io/socket_address.h"

namespace weir::net {

Result<std::unique_ptr<GroupReceiver>> GroupReceiver::open(const GroupAddress& address) {
    WEIR_TRY_ASSIGN(const uint32_t interface, io::find_interface(address.interface));
    // Groups of one link exist on each interface apart.
    const bool scoped = address.is_group() && !address.to.is_v4();
    const NetAddress to = scoped ? NetAddress::from_v6(address.to.v6(), address.to.port(),
                                                       static_cast<uint16_t>(interface))
                                 : address.to;
    io::UdpOptions options;
    options.receive_buffer_bytes = kReceiveBuffer;
    options.shared_port = address.is_group();
    options.polled = true;
    WEIR_TRY_ASSIGN(std::unique_ptr<io::UdpSocket> socket,
                    io::UdpSocket::bind(io::SocketAddress::of(to), options));
    if (address.is_group()) {
        WEIR_TRY(socket->join_on(interface, address.to, address.source));
    }
    return std::unique_ptr<GroupReceiver>(new GroupReceiver(std::move(socket), address, interface));
}

Error GroupReceiver::join_again() {
    if (!address_.is_group()) {
        return {};
    }
    WEIR_TRY(socket_->leave_on(interface_, address_.to, address_.source));
    return socket_->join_on(interface_, address_.to, address_.source);
}

bool GroupReceiver::read(const std::function<void(ByteSpan)>& visit) {
    for (size_t i = 0; i < kBatchesPerTurn; i++) {
        const bool more = socket_->receive([&](std::span<uint8_t> bytes, const io::UdpPath& path) {
            if (!address_.source.empty() && !path.peer.with_port(0).same_ip(address_.source)) {
                strangers_++;
                return;
            }
            visit(bytes);
        });
        if (!more) {
            return false;
        }
    }
    return true;
}

}  // namespace weir::net
