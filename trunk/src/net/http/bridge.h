// Brings the bytes of one connection to another one and back: what is inside of an encrypted
// connection to the process that answers its requests. It knows nothing of HTTP.
#pragma once

#include "base/clock.h"

namespace weir::io {
class TcpStream;
}

namespace weir::net {

inline constexpr size_t kBridgeBytes = 16 * 1024;  // that are on their way, in each direction
inline constexpr Millis kBridgeLook{
    5'000};  // so often it is looked whether the other side is there

// Yields. Until `inside` has ended, or the client is lost, or the coroutine is interrupted. The
// client's end of sending is passed on. `write_timeout`: for a side to take what the other one
// sent. Both streams stay open.
void bridge(io::TcpStream& client, io::TcpStream& inside, Millis write_timeout);

}  // namespace weir::net
