// What a stranger may do who shows nothing, wherever he is.
#pragma once

#include "io/socket_address.h"

namespace weir::net {
struct Services;
}

namespace weir::stream {
struct StreamKey;
}

namespace weir::app {

// An address that no rule for loopback or a network of the operator's takes.
io::SocketAddress nobody();

// Whether everybody may play it over `transport` (a literal, such as "jpg"): without a key, from
// any address, and without a hook server that has to say yes. Counts no refusal. Never yields.
bool plays_for_all(const net::Services& services,
                   const stream::StreamKey& key,
                   const char* transport);

}  // namespace weir::app
