#include "proto/ws/handshake.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/hmac.h"

namespace weir::ws {

namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // RFC 6455 §1.3
constexpr size_t kKeyCharacters = 24;

bool is_base64_digit(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
}

}  // namespace

std::string accept_key(std::string_view client_key) {
    std::string text(client_key);
    text += kGuid;
    return base64(sha1(as_bytes(text)));
}

bool is_valid_client_key(std::string_view key) {
    return key.size() == kKeyCharacters && key.ends_with("==") &&
           std::all_of(key.begin(), key.end() - 2, is_base64_digit);
}

std::string make_client_key(const std::array<uint8_t, 16>& random) {
    return base64(random);
}

}  // namespace weir::ws
