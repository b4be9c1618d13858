#include "base/signature.h"

#include <algorithm>
#include <array>
#include <utility>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

namespace weir {
namespace {

constexpr size_t kCoordinate = 32;  // bytes, of P-256
constexpr size_t kMaxExponent = 8;  // bytes: 65537 is what everybody uses
constexpr size_t kMaxPem = 16 * 1024;

template <auto kFree>
struct Freed {
    template <typename T>
    void operator()(T* object) const {
        kFree(object);
    }
};

using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;
using EcdsaSignature = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>>;

Number number(ByteSpan bytes) {
    return Number(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
}

Key make_key(const char* type, OSSL_PARAM_BLD* builder) {
    const Params params(OSSL_PARAM_BLD_to_param(builder));
    const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
    EVP_PKEY* made = nullptr;
    if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
        EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
        ERR_clear_error();
        return nullptr;
    }
    return Key(made);
}

// Not a point of the curve, a modulus that is even ...
bool is_sound(EVP_PKEY* key) {
    const KeyContext context(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
    const bool sound = context && EVP_PKEY_public_check(context.get()) == 1;
    ERR_clear_error();
    return sound;
}

// Two numbers in DER, as OpenSSL wants them.
Bytes der_of(ByteSpan signature) {
    EcdsaSignature both(ECDSA_SIG_new());
    Number r = number(signature.first(kCoordinate));
    Number s = number(signature.subspan(kCoordinate));
    if (!both || !r || !s || ECDSA_SIG_set0(both.get(), r.get(), s.get()) != 1) {
        return {};
    }
    (void)r.release();  // owned by the signature now
    (void)s.release();
    const int size = i2d_ECDSA_SIG(both.get(), nullptr);
    Bytes der(static_cast<size_t>(std::max(size, 0)));
    uint8_t* out = der.data();
    return i2d_ECDSA_SIG(both.get(), &out) == size ? der : Bytes();
}

bool is_p256(EVP_PKEY* key) {
    std::array<char, 64> group{};
    size_t size = 0;
    return EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) == 1 &&
           std::string_view(group.data(), size) == SN_X9_62_prime256v1;
}

Error size_error(size_t bits) {
    return make_error(ErrorCode::kUnsupported, "an RSA key of {} bits: {} to {} are taken", bits,
                      PublicKey::kMinRsaBits, PublicKey::kMaxRsaBits);
}

bool size_fits(size_t bits) {
    return bits >= PublicKey::kMinRsaBits && bits <= PublicKey::kMaxRsaBits;
}

}  // namespace

struct PublicKey::Impl {
    Key key;
};

PublicKey::PublicKey(Kind kind, std::unique_ptr<Impl> impl) : kind_(kind), impl_(std::move(impl)) {}

PublicKey::PublicKey(PublicKey&&) noexcept = default;
PublicKey& PublicKey::operator=(PublicKey&&) noexcept = default;
PublicKey::~PublicKey() = default;

Result<PublicKey> PublicKey::rsa(ByteSpan modulus, ByteSpan exponent) {
    if (modulus.size() > kMaxRsaBits / 8 + 1 || exponent.empty() ||
        exponent.size() > kMaxExponent) {
        return make_error(ErrorCode::kMalformed,
                          "an RSA key needs a modulus of at most {} bits and an exponent of at "
                          "most {} bytes",
                          kMaxRsaBits, kMaxExponent);
    }
    const Number n = number(modulus);
    const Number e = number(exponent);
    const ParamBuilder builder(OSSL_PARAM_BLD_new());
    if (!n || !e || !builder) {
        return make_error(ErrorCode::kInternal, "no memory for a key");
    }
    if (const auto bits = static_cast<size_t>(BN_num_bits(n.get())); !size_fits(bits)) {
        return size_error(bits);
    }
    if (BN_is_odd(n.get()) == 0 || BN_is_odd(e.get()) == 0 || BN_is_one(e.get()) == 1) {
        return make_error(ErrorCode::kMalformed, "modulus or exponent of an RSA key is wrong");
    }
    Key key;
    if (OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) == 1) {
        key = make_key("RSA", builder.get());
    }
    if (!key) {
        return make_error(ErrorCode::kMalformed, "not an RSA key");
    }
    return PublicKey(Kind::kRsa, std::make_unique<Impl>(Impl{std::move(key)}));
}

Result<PublicKey> PublicKey::p256(ByteSpan x, ByteSpan y) {
    if (x.size() != kCoordinate || y.size() != kCoordinate) {
        return make_error(ErrorCode::kMalformed, "the coordinates of P-256 have {} bytes each",
                          kCoordinate);
    }
    Bytes point = {4};  // not compressed (SEC 1 §2.3.3)
    point.insert(point.end(), x.begin(), x.end());
    point.insert(point.end(), y.begin(), y.end());
    const ParamBuilder builder(OSSL_PARAM_BLD_new());
    Key key;
    if (builder &&
        OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                        SN_X9_62_prime256v1, 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                         point.size()) == 1) {
        key = make_key("EC", builder.get());
    }
    if (!key || !is_sound(key.get())) {
        return make_error(ErrorCode::kMalformed, "not a point on P-256");
    }
    return PublicKey(Kind::kEcP256, std::make_unique<Impl>(Impl{std::move(key)}));
}

Result<PublicKey> PublicKey::pem(std::string_view text) {
    if (text.size() > kMaxPem) {
        return make_error(ErrorCode::kLimit, "more than {} bytes of PEM", kMaxPem);
    }
    const std::unique_ptr<BIO, Freed<BIO_free>> source(
        BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    Key key(source ? PEM_read_bio_PUBKEY(source.get(), nullptr, nullptr, nullptr) : nullptr);
    ERR_clear_error();
    if (!key) {
        return make_error(ErrorCode::kMalformed,
                          "no public key in PEM, which begins with -----BEGIN PUBLIC KEY-----");
    }
    if (EVP_PKEY_is_a(key.get(), "RSA") == 1) {
        const auto bits = static_cast<size_t>(EVP_PKEY_get_bits(key.get()));
        if (!size_fits(bits)) {
            return size_error(bits);
        }
        return PublicKey(Kind::kRsa, std::make_unique<Impl>(Impl{std::move(key)}));
    }
    if (EVP_PKEY_is_a(key.get(), "EC") == 1 && is_p256(key.get()) && is_sound(key.get())) {
        return PublicKey(Kind::kEcP256, std::make_unique<Impl>(Impl{std::move(key)}));
    }
    return make_error(ErrorCode::kUnsupported, "the key is neither RSA nor EC on P-256");
}

bool PublicKey::verify_sha256(ByteSpan data, ByteSpan signature) const {
    Bytes der;
    if (kind_ == Kind::kEcP256) {
        if (signature.size() != 2 * kCoordinate) {
            return false;
        }
        der = der_of(signature);
        signature = der;
    }
    const DigestContext context(EVP_MD_CTX_new());
    const bool good = context && !signature.empty() &&
                      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr,
                                           impl_->key.get()) == 1 &&
                      EVP_DigestVerify(context.get(), signature.data(), signature.size(),
                                       data.data(), data.size()) == 1;
    ERR_clear_error();
    return good;
}

}  // namespace weir
