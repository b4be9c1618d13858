// HMAC-SHA256 (RFC 2104, FIPS 180-4) by OpenSSL's libcrypto; the only file of base/ that touches it
// is hmac.cc.
#pragma once

#include <array>
#include <string>

#include "base/bytes.h"

namespace weir {

using Sha256Digest = std::array<uint8_t, 32>;

Sha256Digest hmac_sha256(ByteSpan key, ByteSpan data);

// The same over data that is split in two (a block with a hole in it).
Sha256Digest hmac_sha256(ByteSpan key, ByteSpan first, ByteSpan second);

// SHA-1 (for the WebSocket handshake, RFC 6455 §4.2.2) .
std::array<uint8_t, 20> sha1(ByteSpan data);

std::string base64(ByteSpan data);

}  // namespace weir
