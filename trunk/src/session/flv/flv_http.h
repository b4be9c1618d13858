// HTTP-FLV and WebSocket-FLV, "/app/stream.flv": what net::HttpPlay has to know of the format.
#pragma once

#include "net/http_play.h"

namespace weir::session {

// Lives as long as the process.
const net::HttpFormat& flv_http_format();

// The same for other nodes: the publisher's own audio, and the end of the stream with its
// publisher.
const net::HttpFormat& relay_http_format();

}  // namespace weir::session
