// Private to io/: who has a port that cannot be had, from /proc. Reads many small files: for error
// messages only.
#pragma once

#include <cstdint>
#include <string>

namespace weir::io {

enum class PortKind : uint8_t { kTcp, kUdp };

// Names the process that listens on the TCP port, or has bound the UDP port: "held by process 1234
// (nginx)". Empty when it cannot be found out (another user's process, another container).
std::string describe_port_holder(PortKind kind, uint16_t port);

}  // namespace weir::io
