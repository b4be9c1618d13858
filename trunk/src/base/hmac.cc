#include "base/hmac.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "base/check.h"

namespace weir {

Sha256Digest hmac_sha256(ByteSpan key, ByteSpan data) {
    Sha256Digest digest{};
    unsigned size = 0;
    const uint8_t* result = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                 data.data(), data.size(), digest.data(), &size);
    WEIR_CHECK(result != nullptr && size == digest.size());
    return digest;
}

Sha256Digest hmac_sha256(ByteSpan key, ByteSpan first, ByteSpan second) {
    Bytes joined(first.begin(), first.end());
    joined.insert(joined.end(), second.begin(), second.end());
    return hmac_sha256(key, joined);
}

std::array<uint8_t, 20> sha1(ByteSpan data) {
    std::array<uint8_t, 20> digest{};
    SHA1(data.data(), data.size(), digest.data());
    return digest;
}

std::string base64(ByteSpan data) {
    std::string out((data.size() + 2) / 3 * 4, '\0');
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), data.data(),
                    static_cast<int>(data.size()));
    return out;
}

}  // namespace weir
