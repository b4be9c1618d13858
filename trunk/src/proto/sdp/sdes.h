// Keys of SRTP in a description: a=crypto (RFC 4568 §9.1, suites of §6.2 and RFC 7714 §14.2), as
// cameras and servers use it under RTSPS.
//
//     1 AES_CM_128_HMAC_SHA1_80 inline:<key and salt in base64>|2^20|1:4 KDR=0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace weir::sdp {

inline constexpr size_t kMaxCryptoLines = 8;  // of a track; more are not read
inline constexpr size_t kMaxSrtpKeyBytes = 64;

struct CryptoLine {
    uint32_t tag = 0;
    std::string suite;  // as written, a token
    Bytes key_and_salt;
    bool has_mki = false;  // packets would carry the number of the key

    bool operator==(const CryptoLine&) const = default;
};

// Bytes of key and salt of a suite; 0: it is not known.
size_t srtp_key_bytes(std::string_view suite);

// The value behind "a=crypto:". Of several keys the first. Nothing when it is not of that form, has
// a key of a wrong length for its suite, or session parameters that turn off what is needed here
// (UNENCRYPTED_SRTP and the like). An unknown suite is read.
std::optional<CryptoLine> parse_crypto(std::string_view value);

std::string write_crypto(const CryptoLine& line);

}  // namespace weir::sdp
