// Public keys and the signatures that they verify: RS256 and ES256 of JWT (RFC 7518 §3.3, §3.4). By
// OpenSSL's libcrypto, in signature.cc only.
//
// What a key is fixes how it verifies: there is no call that takes the algorithm from a peer.
#pragma once

#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace weir {

class PublicKey {
  public:
    enum class Kind : uint8_t { kRsa, kEcP256 };

    static constexpr size_t kMinRsaBits = 2048;
    static constexpr size_t kMaxRsaBits = 8192;

    // Modulus and exponent, big endian. kMalformed, or kUnsupported for too few or too many bits.
    static Result<PublicKey> rsa(ByteSpan modulus, ByteSpan exponent);

    // The coordinates of a point on P-256, 32 bytes each. kMalformed when it is none.
    static Result<PublicKey> p256(ByteSpan x, ByteSpan y);

    // "-----BEGIN PUBLIC KEY-----", RSA or P-256.
    static Result<PublicKey> pem(std::string_view text);

    PublicKey(PublicKey&&) noexcept;
    PublicKey& operator=(PublicKey&&) noexcept;
    ~PublicKey();

    Kind kind() const { return kind_; }

    // RSA: PKCS #1 v1.5 with SHA-256. P-256: ECDSA with SHA-256, the signature as r and s of 32
    // bytes each (RFC 7518 §3.4).
    bool verify_sha256(ByteSpan data, ByteSpan signature) const;

  private:
    struct Impl;
    PublicKey(Kind kind, std::unique_ptr<Impl> impl);

    Kind kind_;
    std::unique_ptr<Impl> impl_;
};

}  // namespace weir
