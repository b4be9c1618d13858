#include "app/processes/shared_listeners.h"

#include <algorithm>

#include "io/listening.h"

namespace weir::app {

Result<int> SharedListeners::socket_for(uint32_t process, const std::string& address) {
    const auto found = sockets_.find({address, process});
    if (found != sockets_.end()) {
        return found->second.get();
    }
    if (sockets_.size() >= kMaxSockets) {
        return make_error(ErrorCode::kLimit, "listen on {}: more than {} sockets", address,
                          kMaxSockets);
    }
    WEIR_TRY_ASSIGN(io::SocketAddress to, io::SocketAddress::parse(address));
    const auto other = sockets_.lower_bound({address, 0});
    if (other != sockets_.end() && other->first.first == address) {
        to = io::local_address(other->second.get());
    } else if (to.port() != 0 && !has_port(to.port())) {
        // Another server with SO_REUSEPORT would share the port in silence.
        WEIR_TRY_ASSIGN(const io::OwnFd alone, io::open_listening(to, io::PortUse::kAlone));
    }
    WEIR_TRY_ASSIGN(io::OwnFd own, io::open_listening(to, io::PortUse::kShared));
    return sockets_.emplace(std::pair(address, process), std::move(own)).first->second.get();
}

bool SharedListeners::has_port(uint16_t port) const {
    return std::ranges::any_of(sockets_, [port](const auto& each) {
        return io::local_address(each.second.get()).port() == port;
    });
}

void SharedListeners::keep(uint32_t process, const std::vector<std::string>& addresses) {
    std::erase_if(sockets_, [&](const auto& each) {
        return each.first.second == process &&
               std::ranges::find(addresses, each.first.first) == addresses.end();
    });
}

}  // namespace weir::app
