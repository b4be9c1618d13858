#include "proto/dtls/identity.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/srtp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "proto/dtls/handshake.h"

namespace weir::dtls {

namespace {

// Both use the same key sizes and hash, which record_key() of handshake.cc relies on. RFC 8827 §6.5
// makes the first one mandatory; the second one is for peers with an RSA certificate.
constexpr const char* kCipherSuites = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256";
constexpr const char* kGroups = "X25519:P-256";
// In the order that we prefer.
constexpr const char* kSrtpProfiles = "SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80";

// The peer's chain. OpenSSL takes handshake messages of up to about 17 KB in any case, and buffers
// at most 10.
constexpr long kMaxCertificateBytes = 16 * 1024;

constexpr int kSerialBits = 63;
constexpr long kDay = 24 * 3600;
constexpr long kLifetime =
    365 * 10 * kDay;  // peers go by the fingerprint; a server may run for long

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;

Error failed(const char* doing) {
    const char* reason = ERR_reason_error_string(ERR_peek_last_error());
    Error error =
        make_error(ErrorCode::kInternal, "{}: {}", doing, reason != nullptr ? reason : "no reason");
    ERR_clear_error();
    return error;
}

bool fill(X509* certificate, EVP_PKEY* key) {
    Number serial(BN_new(), BN_free);
    X509_NAME* name = X509_get_subject_name(certificate);
    const auto* common_name = reinterpret_cast<const unsigned char*>("weir");
    return serial && BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
           BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr &&
           X509_set_version(certificate, X509_VERSION_3) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay) != nullptr &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), kLifetime) != nullptr &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0) == 1 &&
           X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
           X509_sign(certificate, key, EVP_sha256()) > 0;
}

}  // namespace

void Identity::Free::operator()(ssl_ctx_st* context) const {
    SSL_CTX_free(context);
}

Result<std::unique_ptr<Identity>> Identity::create() {
    std::unique_ptr<Identity> identity(new Identity(SSL_CTX_new(DTLS_method())));
    if (identity->context_ == nullptr) {
        return failed("making the DTLS context");
    }
    WEIR_TRY(identity->set_options());
    WEIR_TRY(identity->set_certificate());
    return identity;
}

Error Identity::set_options() {
    SSL_CTX* context = context_.get();
    SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_cert_list(context, kMaxCertificateBytes);
    Handshake::set_verification(context);
    // SSL_CTX_set_tlsext_use_srtp() is 0 when it works.
    if (SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(context, DTLS1_2_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(context, kCipherSuites) != 1 ||
        SSL_CTX_set1_groups_list(context, kGroups) != 1 ||
        SSL_CTX_set_tlsext_use_srtp(context, kSrtpProfiles) != 0) {
        return failed("setting up the DTLS context");
    }
    return {};
}

Error Identity::set_certificate() {
    Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    Certificate certificate(X509_new(), X509_free);
    unsigned size = 0;
    if (!key || !certificate || !fill(certificate.get(), key.get()) ||
        X509_digest(certificate.get(), EVP_sha256(), fingerprint_.sha256.data(), &size) != 1 ||
        size != fingerprint_.sha256.size() ||
        SSL_CTX_use_certificate(context_.get(), certificate.get()) != 1 ||
        SSL_CTX_use_PrivateKey(context_.get(), key.get()) != 1) {
        return failed("making the DTLS certificate");
    }
    return {};
}

}  // namespace weir::dtls
