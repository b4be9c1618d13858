#include "base/hmac.h"

#include <algorithm>
#include <memory>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "base/check.h"

namespace weir {

namespace {

constexpr size_t kSha1Block = 64;

struct FreeDigestContext {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// One context and one fetched algorithm a thread: OpenSSL 3's HMAC() looks the algorithm up and
// allocates at each call (bench/micro/proto/ice compares the two).
class Sha1 {
  public:
    Sha1() : context_(EVP_MD_CTX_new()) {
        WEIR_CHECK(context_ != nullptr &&
                   EVP_DigestInit_ex(context_.get(), EVP_sha1(), nullptr) == 1);
    }

    Sha1Digest digest(ByteSpan first, ByteSpan second) {
        Sha1Digest out{};
        unsigned size = 0;
        // Without a type: the one that is set already, not fetched again.
        bool ok = EVP_DigestInit_ex(context_.get(), nullptr, nullptr) == 1 &&
                  EVP_DigestUpdate(context_.get(), first.data(), first.size()) == 1 &&
                  EVP_DigestUpdate(context_.get(), second.data(), second.size()) == 1 &&
                  EVP_DigestFinal_ex(context_.get(), out.data(), &size) == 1;
        WEIR_CHECK(ok && size == out.size());
        return out;
    }

  private:
    std::unique_ptr<EVP_MD_CTX, FreeDigestContext> context_;
};

}  // namespace

Sha1Digest hmac_sha1(ByteSpan key, ByteSpan data) {
    thread_local Sha1 sha;
    std::array<uint8_t, kSha1Block> inner{};
    if (key.size() > kSha1Block) {
        Sha1Digest short_key = sha.digest(key, {});
        std::copy(short_key.begin(), short_key.end(), inner.begin());
    } else {
        std::copy(key.begin(), key.end(), inner.begin());
    }
    std::array<uint8_t, kSha1Block> outer = inner;
    for (size_t i = 0; i < kSha1Block; i++) {
        inner[i] ^= 0x36U;
        outer[i] ^= 0x5CU;
    }
    return sha.digest(outer, sha.digest(inner, data));
}

bool equal_in_constant_time(ByteSpan a, ByteSpan b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

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

Sha256Digest sha256(ByteSpan data) {
    Sha256Digest digest{};
    SHA256(data.data(), data.size(), digest.data());
    return digest;
}

std::array<uint8_t, 16> md5(ByteSpan data) {
    std::array<uint8_t, 16> digest{};
    unsigned size = 0;
    WEIR_CHECK(EVP_Digest(data.data(), data.size(), digest.data(), &size, EVP_md5(), nullptr) ==
                   1 &&
               size == digest.size());
    return digest;
}

std::string base64(ByteSpan data) {
    std::string out((data.size() + 2) / 3 * 4, '\0');
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), data.data(),
                    static_cast<int>(data.size()));
    return out;
}

}  // namespace weir
