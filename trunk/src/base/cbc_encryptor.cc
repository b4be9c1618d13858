#include "base/cbc_encryptor.h"

#include <algorithm>
#include <limits>

#include <openssl/evp.h>

#include "base/check.h"

namespace weir {

void CbcEncryptor::Free::operator()(evp_cipher_ctx_st* context) const {
    EVP_CIPHER_CTX_free(context);
}

CbcEncryptor::CbcEncryptor() : context_(EVP_CIPHER_CTX_new()) {
    WEIR_CHECK(context_ != nullptr);
}

void CbcEncryptor::begin(const Block& key, const Block& initialization_vector) {
    WEIR_CHECK(EVP_EncryptInit_ex(context_.get(), EVP_aes_128_cbc(), nullptr, key.data(),
                                  initialization_vector.data()) == 1);
}

void CbcEncryptor::update(ByteSpan text, Bytes& out) {
    WEIR_CHECK(text.size() < std::numeric_limits<int>::max() - kBlock);
    const size_t before = out.size();
    out.resize(before + text.size() + kBlock);
    int written = 0;
    WEIR_CHECK(EVP_EncryptUpdate(context_.get(), out.data() + before, &written, text.data(),
                                 static_cast<int>(text.size())) == 1);
    out.resize(before + static_cast<size_t>(written));
}

void CbcEncryptor::finish(Bytes& out) {
    const size_t before = out.size();
    out.resize(before + kBlock);
    int written = 0;
    WEIR_CHECK(EVP_EncryptFinal_ex(context_.get(), out.data() + before, &written) == 1);
    out.resize(before + static_cast<size_t>(written));
}

}  // namespace weir
