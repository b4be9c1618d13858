// HTTP-TS and WebSocket-TS, "/app/stream.ts": what net::HttpPlay has to know of the format.
#pragma once

#include "net/http_play.h"

namespace weir::session {

// Lives as long as the process.
const net::HttpFormat& ts_http_format();

}  // namespace weir::session
