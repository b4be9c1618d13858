// AES-128 in CBC with PKCS #7 padding (NIST SP 800-38A, RFC 5652 §6.3), of a text that comes in
// pieces; by OpenSSL's libcrypto.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/bytes.h"

struct evp_cipher_ctx_st;

namespace weir {

class CbcEncryptor {
  public:
    static constexpr size_t kBlock = 16;  // bytes, of a key as well
    using Block = std::array<uint8_t, kBlock>;

    CbcEncryptor();

    void begin(const Block& key, const Block& initialization_vector);

    // Of begin() until finish(). Appends whole blocks to `out`.
    void update(ByteSpan text, Bytes& out);

    // Appends the last block.
    void finish(Bytes& out);

  private:
    struct Free {
        void operator()(evp_cipher_ctx_st* context) const;
    };

    std::unique_ptr<evp_cipher_ctx_st, Free> context_;
};

}  // namespace weir
