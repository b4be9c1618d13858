// HTTP-FLV and WebSocket-FLV, "/app/stream.flv": what net::HttpPlay has to know of the format.
#pragma once

#include "net/http_play.h"

namespace weir::session {

// Lives as long as the process.
const net::HttpFormat& flv_http_format();

}  // namespace weir::session
