// The keys by which tokens are checked: secrets of the configuration, and JSON Web Key Sets
// (RFC 7517). Each key fixes its algorithm: a secret checks HS256 and nothing else, an RSA key
// RS256, a key on P-256 ES256. So no token can choose how it is checked.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/signature.h"

namespace weir::app {

inline constexpr size_t kMaxJwtKeys = 64;
inline constexpr size_t kMinJwtSecret = 32;  // bytes (RFC 7518 §3.2)
inline constexpr size_t kMaxJwksBytes = 256 * 1024;

struct JwtKey {
    std::string id;  // `kid`; empty: it has none
    std::variant<std::string, PublicKey> key;

    // "HS256", "RS256" or "ES256".
    std::string_view algorithm() const;

    bool verify(std::string_view signed_part, ByteSpan signature) const;
};

using JwtKeys = std::vector<JwtKey>;

// Adds a secret; kMalformed when it is shorter than kMinJwtSecret.
Error add_jwt_secret(JwtKeys& keys, std::string_view secret);

// Adds the keys of a file: a JWKS, one JWK, or one public key in PEM. Keys for other algorithms or
// uses are left out, as RFC 7517 §5 asks. kMalformed says what is wrong (and which key, never its
// value); also when nothing is left.
Error add_jwks(JwtKeys& keys, std::string_view text);

}  // namespace weir::app
