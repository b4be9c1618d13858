#include "app/access/open_to_all.h"

#include "net/hooks.h"
#include "net/policy.h"
#include "net/services.h"

namespace weir::app {

io::SocketAddress nobody() {
    return io::SocketAddress::of(NetAddress::from_v4({0, 0, 0, 0}, 0));
}

bool plays_for_all(const net::Services& services,
                   const stream::StreamKey& key,
                   const char* transport) {
    const io::SocketAddress peer = nobody();
    return !services.hooks.asks(net::HookAction::kPlay, key) &&
           services.policy.plays_openly({.key = key, .peer = peer, .transport = transport});
}

}  // namespace weir::app
