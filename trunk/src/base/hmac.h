// HMAC (RFC 2104) with SHA-256 and SHA-1 (FIPS 180-4), and plain digests, by OpenSSL's libcrypto;
// of base/, only hmac.cc and signature.cc touch it.
#pragma once

#include <array>
#include <string>

#include "base/bytes.h"

namespace weir {

using Sha256Digest = std::array<uint8_t, 32>;

Sha256Digest hmac_sha256(ByteSpan key, ByteSpan data);

// The same over data that is split in two (a block with a hole in it).
Sha256Digest hmac_sha256(ByteSpan key, ByteSpan first, ByteSpan second);

using Sha1Digest = std::array<uint8_t, 20>;

// HMAC-SHA1, for STUN. Nothing is allocated: it is computed for every check that anybody sends.
Sha1Digest hmac_sha1(ByteSpan key, ByteSpan data);

// Takes as long for a difference in the first byte as for one in the last; for digests that a peer
// sent. Sizes may differ (then false at once).
bool equal_in_constant_time(ByteSpan a, ByteSpan b);

// SHA-1 (for the WebSocket handshake, RFC 6455 §4.2.2) .
std::array<uint8_t, 20> sha1(ByteSpan data);

// SHA-256 (FIPS 180-4), for Digest authentication.
Sha256Digest sha256(ByteSpan data);

// MD5 (RFC 1321), for Adobe's authentication of RTMP publishers and Digest authentication of
// cameras, which know nothing else.
std::array<uint8_t, 16> md5(ByteSpan data);

std::string base64(ByteSpan data);

}  // namespace weir
