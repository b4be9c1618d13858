#include "proto/http/ws_upgrade.h"

#include <utility>

#include "proto/http/response.h"
#include "proto/ws/handshake.h"

namespace weir::http {

namespace {

constexpr std::string_view kVersion = "13";  // RFC 6455 §4.1

WsUpgrade refuse(int status, std::string reason, Fields fields = {}) {
    return {status, std::move(reason), std::move(fields), {}};
}

}  // namespace

bool wants_websocket(const Request& request) {
    return request.headers.has_token("Upgrade", "websocket");
}

WsUpgrade check_ws_upgrade(const Request& request, const Fields& extra) {
    const Fields& headers = request.headers;
    if (!wants_websocket(request)) {
        return refuse(426, "this path speaks WebSocket",
                      {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}});
    }
    if (request.method != Method::kGet) {
        return refuse(405, "a WebSocket is opened with GET", {{"Allow", "GET"}});
    }
    if (request.version_minor == 0) {
        return refuse(400, "a WebSocket needs HTTP/1.1");
    }
    if (!headers.has_token("Connection", "Upgrade")) {
        return refuse(400, "the Connection field does not name Upgrade");
    }
    if (headers.count("Sec-WebSocket-Version") != 1 ||
        trimmed(*headers.get("Sec-WebSocket-Version")) != kVersion) {
        return refuse(426, "only WebSocket version 13 is spoken",
                      {{"Sec-WebSocket-Version", "13"}});
    }
    if (headers.count("Sec-WebSocket-Key") != 1 ||
        !ws::is_valid_client_key(trimmed(*headers.get("Sec-WebSocket-Key")))) {
        return refuse(400, "Sec-WebSocket-Key is not 16 bytes in base64");
    }
    WsUpgrade accepted;
    accepted.fields = {
        {"Upgrade", "websocket"},
        {"Connection", "Upgrade"},
        {"Sec-WebSocket-Accept", ws::accept_key(trimmed(*headers.get("Sec-WebSocket-Key")))}};
    for (const Field& field : extra) {
        accepted.fields.add(field.name, field.value);
    }
    accepted.head = http_response_head(101, accepted.fields);
    return accepted;
}

}  // namespace weir::http
