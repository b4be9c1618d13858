// Keys of SRTP in MIKEY messages (RFC 3830), as RTSP carries them (RFC 4567): GStreamer and
// gortsplib have them where others have a=crypto.
//
//     a=key-mgmt:mikey <message in base64>
//     KeyMgmt: prot=mikey;uri="rtsps://host/path";data="<message in base64>"
//
// Read and written are messages that carry a key as it is ("pre-shared key" without encryption and
// without MAC: whoever sends it has an encrypted connection) for AES in counter mode with 128 bits
// and HMAC-SHA1. The key comes as a CryptoLine, as if it stood in a=crypto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/random.h"
#include "proto/sdp/sdes.h"

namespace weir::sdp {

inline constexpr size_t kMaxMikeyBytes = 2048;
inline constexpr size_t kMaxMikeyPayloads = 32;  // of a message

// The first key of the message. Nothing: it is malformed, encrypted, or for another cipher.
std::optional<CryptoLine> parse_mikey(ByteSpan message);

// The value behind "a=key-mgmt:".
std::optional<CryptoLine> parse_key_mgmt(std::string_view value);

// The value of a KeyMgmt field of RTSP. Of several the first that is of MIKEY.
std::optional<CryptoLine> parse_key_mgmt_field(std::string_view value);

// What only the writer of a message knows.
struct MikeyMark {
    uint64_t ntp_time = 0;  // now, RFC 5905's form
    RandomSource& random;
    uint32_t ssrc = 0;  // of the packets
};

// A message with the line's key, whose suite is one that parse_mikey() gives.
Bytes write_mikey(const CryptoLine& line, const MikeyMark& mark);

// The value behind "a=key-mgmt:".
std::string write_key_mgmt(const CryptoLine& line, const MikeyMark& mark);

}  // namespace weir::sdp
