// What a connection has not delivered is not delivered later either.
#pragma once

namespace weir::io {

class TcpStream;

// When the connection is closed, it is reset: what the peer has not acknowledged is dropped.
// Otherwise the kernel goes on to send it for minutes, and it may come after what a later
// connection says. Nothing where the stream is closed already.
void discard_unsent(const TcpStream& stream);

}  // namespace weir::io
