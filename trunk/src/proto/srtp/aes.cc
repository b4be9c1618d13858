// The SHA-1 block functions are the only way to keep a keyed state in 20 bytes; OpenSSL 3 calls
// them deprecated.
#define OPENSSL_API_COMPAT 0x10100000L

#include "proto/srtp/aes.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include "base/check.h"

namespace weir::srtp {

namespace {

constexpr size_t kShaBlock = 64;

// Fetched once: each fetch by name takes locks and 0.2 us. Never freed, like the library itself.
const EVP_CIPHER* cipher_of(Aes::Mode mode) {
    static const EVP_CIPHER* const kCounter = EVP_CIPHER_fetch(nullptr, "AES-128-CTR", nullptr);
    static const EVP_CIPHER* const kGcm = EVP_CIPHER_fetch(nullptr, "AES-128-GCM", nullptr);
    return mode == Aes::Mode::kGcm ? kGcm : kCounter;
}

// The state behind the first block, which is the key with each byte changed.
void keyed_state(const std::array<uint8_t, kAuthKeySize>& key,
                 uint8_t change,
                 std::array<uint32_t, 5>& out) {
    std::array<uint8_t, kShaBlock> block;
    block.fill(change);
    for (size_t i = 0; i < key.size(); i++) {
        block[i] ^= key[i];
    }
    SHA_CTX sha;
    SHA1_Init(&sha);
    SHA1_Update(&sha, block.data(), block.size());
    out = {sha.h0, sha.h1, sha.h2, sha.h3, sha.h4};
    OPENSSL_cleanse(block.data(), block.size());
}

SHA_CTX resume(const std::array<uint32_t, 5>& state) {
    SHA_CTX sha;
    SHA1_Init(&sha);
    sha.h0 = state[0];
    sha.h1 = state[1];
    sha.h2 = state[2];
    sha.h3 = state[3];
    sha.h4 = state[4];
    sha.Nl = kShaBlock * 8;
    return sha;
}

}  // namespace

void Aes::Free::operator()(evp_cipher_ctx_st* context) const {
    EVP_CIPHER_CTX_free(context);
}

Aes::Aes(Mode mode) : context_(EVP_CIPHER_CTX_new()) {
    const std::array<uint8_t, kKeySize> zero{};
    WEIR_CHECK(context_ && EVP_EncryptInit_ex(context_.get(), cipher_of(mode), nullptr, zero.data(),
                                              nullptr) == 1);
}

void Aes::set_key(const std::array<uint8_t, kKeySize>& key) {
    WEIR_CHECK(EVP_EncryptInit_ex(context_.get(), nullptr, nullptr, key.data(), nullptr) == 1);
}

void Aes::start_counter(const Block& counter) {
    WEIR_CHECK(EVP_EncryptInit_ex(context_.get(), nullptr, nullptr, nullptr, counter.data()) == 1);
}

void Aes::crypt_counter(ByteSpan in, uint8_t* out) {
    update(in, out);
}

void Aes::start_seal(const Nonce& nonce) {
    WEIR_CHECK(EVP_EncryptInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce.data()) == 1);
}

void Aes::start_open(const Nonce& nonce) {
    WEIR_CHECK(EVP_DecryptInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce.data()) == 1);
}

void Aes::add_data(ByteSpan data) {
    update(data, nullptr);
}

void Aes::crypt(ByteSpan in, uint8_t* out) {
    update(in, out);
}

void Aes::finish_seal(uint8_t* tag) {
    int size = 0;
    Block unused;
    OSSL_PARAM wanted[] = {
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, std::tuple_size_v<Tag>),
        OSSL_PARAM_construct_end()};
    WEIR_CHECK(EVP_EncryptFinal_ex(context_.get(), unused.data(), &size) == 1 &&
               EVP_CIPHER_CTX_get_params(context_.get(), wanted) == 1);
}

bool Aes::finish_open(const Tag& tag) {
    int size = 0;
    Block unused;
    Tag expected = tag;
    WEIR_CHECK(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG,
                                   static_cast<int>(expected.size()), expected.data()) == 1);
    return EVP_DecryptFinal_ex(context_.get(), unused.data(), &size) == 1;
}

void Aes::update(ByteSpan in, uint8_t* out) {
    int size = 0;
    WEIR_CHECK(in.empty() || EVP_CipherUpdate(context_.get(), out, &size, in.data(),
                                              static_cast<int>(in.size())) == 1);
}

HmacSha1::HmacSha1(const std::array<uint8_t, kAuthKeySize>& key) {
    keyed_state(key, 0x36, inner_);  // RFC 2104 §2: ipad and opad
    keyed_state(key, 0x5c, outer_);
}

HmacSha1::Digest HmacSha1::digest(ByteSpan first, ByteSpan second) const {
    Digest digest;
    SHA_CTX sha = resume(inner_);
    SHA1_Update(&sha, first.data(), first.size());
    SHA1_Update(&sha, second.data(), second.size());
    SHA1_Final(digest.data(), &sha);
    sha = resume(outer_);
    SHA1_Update(&sha, digest.data(), digest.size());
    SHA1_Final(digest.data(), &sha);
    return digest;
}

bool equal_constant_time(ByteSpan a, ByteSpan b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace weir::srtp
