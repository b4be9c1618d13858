// The HTTP side of the WebSocket opening handshake, for servers (RFC 6455 §4.2).
//
// Peers: ws
#pragma once

#include <string>

#include "proto/http/fields.h"
#include "proto/http/request.h"

namespace weir::http {

// The client asks for a WebSocket (Upgrade: websocket); whether it does so correctly is what
// check_ws_upgrade() says.
bool wants_websocket(const Request& request);

struct WsUpgrade {
    int status = 101;    // 101 accepted; 400, 405 or 426 refused
    std::string reason;  // refused: a sentence for the body
    Fields fields;       // refused: extra fields (426 names the version that is spoken)
    std::string head;    // accepted: the bytes to write, 101 with the accept key
};

// `extra` is added to the accepted head. A subprotocol is never chosen (players ask for none).
WsUpgrade check_ws_upgrade(const Request& request, const Fields& extra = {});

}  // namespace weir::http
