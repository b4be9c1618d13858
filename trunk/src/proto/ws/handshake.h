// The keys of the WebSocket opening handshake (RFC 6455 §4). The HTTP around it is
// proto/http/ws_upgrade.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::ws {

// Sec-WebSocket-Accept for a Sec-WebSocket-Key: base64(sha1(key + GUID)).
std::string accept_key(std::string_view client_key);

// A Sec-WebSocket-Key is 16 bytes in base64: 24 characters that end in "==".
bool is_valid_client_key(std::string_view key);

// Sec-WebSocket-Key from 16 random bytes (client side).
std::string make_client_key(const std::array<uint8_t, 16>& random);

}  // namespace weir::ws
