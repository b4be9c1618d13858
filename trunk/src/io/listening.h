// Listening sockets outside of the reactor, for whoever hands them on.
#pragma once

#include <optional>

#include <sys/types.h>

#include "base/error.h"
#include "io/own_fd.h"
#include "io/socket_address.h"

namespace weir::io {

// kShared: several sockets listen on one address, and the kernel spreads connections over them
// (SO_REUSEPORT, of one user only).
enum class PortUse : uint8_t { kAlone, kShared };

inline constexpr int kListenBacklog = 4096;

// A wildcard IPv6 address also takes IPv4. Errors as of TcpListener::listen().
Result<OwnFd> open_listening(const SocketAddress& address, PortUse use);

// A bound UDP socket, for UdpSocket::adopt(). `owner`: whose the socket is, where that is not who
// opens it: all that share a port are of one user. A wildcard IPv6 address also takes IPv4. kBusy,
// kSystem.
Result<OwnFd> open_datagrams(const SocketAddress& address,
                             PortUse use,
                             std::optional<uid_t> owner = std::nullopt);

// Where a socket is bound.
SocketAddress local_address(int fd);

}  // namespace weir::io
