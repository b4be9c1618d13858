#include "app/protocols/shown_port.h"

#include <algorithm>

#include "io/socket_address.h"

namespace weir::app {

uint16_t shown_port(std::span<const config::ListenAddress> listeners) {
    const auto plain = std::ranges::find_if(listeners, [](const config::ListenAddress& listen) {
        return !listen.ssl && !listen.proxy_protocol;
    });
    if (plain == listeners.end()) {
        return 0;
    }
    const auto address = io::SocketAddress::parse(plain->address);
    return address.ok() ? address->port() : 0;
}

}  // namespace weir::app
