#include "app/processes/shared_listeners.h"

#include <algorithm>

#include "io/listening.h"

namespace weir::app {
namespace {

bool is_udp(std::string_view address) {
    return address.starts_with(SharedListeners::kUdp);
}

}  // namespace

Result<int> SharedListeners::socket_for(uint32_t process, const std::string& address) {
    const auto found = sockets_.find({address, process});
    if (found != sockets_.end()) {
        return found->second.get();
    }
    if (sockets_.size() >= kMaxSockets) {
        return make_error(ErrorCode::kLimit, "listen on {}: more than {} sockets", address,
                          kMaxSockets);
    }
    const bool udp = is_udp(address);
    WEIR_TRY_ASSIGN(
        io::SocketAddress to,
        io::SocketAddress::parse(std::string_view(address).substr(udp ? kUdp.size() : 0)));
    const auto other = sockets_.lower_bound({address, 0});
    if (other != sockets_.end() && other->first.first == address) {
        to = io::local_address(other->second.get());
    } else if (to.port() != 0 && !has_port(udp, to.port())) {
        // Another server with SO_REUSEPORT would share the port in silence.
        WEIR_TRY_ASSIGN(const io::OwnFd alone, udp ? io::open_datagrams(to, io::PortUse::kAlone)
                                                   : io::open_listening(to, io::PortUse::kAlone));
    }
    WEIR_TRY_ASSIGN(io::OwnFd own, open(udp, to));
    return sockets_.emplace(std::pair(address, process), std::move(own)).first->second.get();
}

Result<io::OwnFd> SharedListeners::open(bool udp, const io::SocketAddress& address) {
    if (!udp) {
        return io::open_listening(address, io::PortUse::kShared);
    }
    WEIR_TRY_ASSIGN(io::OwnFd own, io::open_datagrams(address, io::PortUse::kShared, owner_));
    own_udp_.insert(io::local_address(own.get()).port());
    return own;
}

bool SharedListeners::has_port(bool udp, uint16_t port) const {
    return (udp && own_udp_.contains(port)) || std::ranges::any_of(sockets_, [&](const auto& each) {
               return is_udp(each.first.first) == udp &&
                      io::local_address(each.second.get()).port() == port;
           });
}

void SharedListeners::keep(uint32_t process, const std::vector<std::string>& addresses) {
    std::erase_if(sockets_, [&](const auto& each) {
        return each.first.second == process &&
               std::ranges::find(addresses, each.first.first) == addresses.end();
    });
}

void SharedListeners::close_udp(uint32_t process) {
    std::erase_if(sockets_, [&](const auto& each) {
        return each.first.second == process && is_udp(each.first.first);
    });
}

}  // namespace weir::app
