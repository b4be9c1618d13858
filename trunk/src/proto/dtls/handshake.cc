#include "proto/dtls/handshake.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/srtp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/check.h"
#include "proto/dtls/identity.h"

namespace weir::dtls {

namespace {

// RFC 5764 §4.2.
constexpr std::string_view kSrtpLabel = "EXTRACTOR-dtls_srtp";
constexpr size_t kRandomSize = 32;

// Longer than any handshake may take: Transport repeats flights.
constexpr unsigned kNoTimerUs = 3'600'000'000;

unsigned no_timer(SSL* /*ssl*/, unsigned /*previous_us*/) {
    return kNoTimerUs;
}

// A read-only parameter: OpenSSL's functions take a pointer that they do not write through.
OSSL_PARAM octets(const char* name, ByteSpan value) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<uint8_t*>(value.data()),
                                             value.size());
}

// The pseudorandom function of TLS 1.2 with SHA-256 (RFC 5246 §5).
bool tls_prf(ByteSpan secret, std::string_view label, ByteSpan seed, std::span<uint8_t> out) {
    EVP_KDF* kdf = EVP_KDF_fetch(nullptr, OSSL_KDF_NAME_TLS1_PRF, nullptr);
    EVP_KDF_CTX* context = EVP_KDF_CTX_new(kdf);
    EVP_KDF_free(kdf);
    std::string digest = OSSL_DIGEST_NAME_SHA2_256;
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
        octets(OSSL_KDF_PARAM_SECRET, secret), octets(OSSL_KDF_PARAM_SEED, as_bytes(label)),
        octets(OSSL_KDF_PARAM_SEED, seed), OSSL_PARAM_construct_end()};
    const bool done =
        context != nullptr && EVP_KDF_derive(context, out.data(), out.size(), parameters) == 1;
    EVP_KDF_CTX_free(context);
    return done;
}

void take_into(ByteReader& reader, std::span<uint8_t> out) {
    const ByteSpan bytes = reader.take(out.size());
    std::copy(bytes.begin(), bytes.end(), out.begin());
}

}  // namespace

void Handshake::Free::operator()(ssl_st* ssl) const {
    SSL_free(ssl);
}

Handshake::Handshake(const Identity& identity, Role role, const Fingerprint& remote, size_t mtu)
    : ssl_(SSL_new(identity.context())), role_(role), remote_(remote) {
    BIO* bio = BIO_new(bio_method());
    WEIR_CHECK(ssl_ && bio);
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);  // takes it
    SSL_set_app_data(ssl_.get(), this);
    SSL_set_mtu(ssl_.get(), static_cast<long>(mtu));
    DTLS_set_timer_cb(ssl_.get(), no_timer);
    if (role == Role::kServer) {
        SSL_set_accept_state(ssl_.get());
    } else {
        SSL_set_connect_state(ssl_.get());
    }
}

Handshake::~Handshake() = default;

Handshake::Status Handshake::step(ByteSpan datagram, std::vector<Bytes>& out) {
    incoming_ = datagram;
    out_ = &out;
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    const int ssl_error = SSL_get_error(ssl_.get(), result);
    incoming_ = {};
    out_ = nullptr;
    if (result == 1) {
        return Status::kDone;
    }
    if (ssl_error == SSL_ERROR_WANT_READ) {
        return Status::kOngoing;
    }
    error_ = failure(ssl_error);
    ERR_clear_error();
    return Status::kFailed;
}

Result<Secrets> Handshake::finish() {
    Secrets secrets;
    WEIR_TRY_ASSIGN(secrets.srtp, export_srtp_keys());
    WEIR_TRY_ASSIGN(secrets.remote_records, export_record_key());
    std::vector<Bytes> out;
    out_ = &out;
    SSL_shutdown(ssl_.get());
    out_ = nullptr;
    ERR_clear_error();
    if (!out.empty()) {
        secrets.close_notify = std::move(out.front());
    }
    return secrets;
}

void Handshake::set_verification(ssl_ctx_st* context) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    SSL_CTX_set_cert_verify_callback(context, verify, nullptr);
}

// No chain, no names, no dates: the certificate is the one that signalling announced, or it is not
// (RFC 8827 §6.5).
int Handshake::verify(x509_store_ctx_st* store, void* /*unused*/) {
    const auto* ssl =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* self = static_cast<Handshake*>(SSL_get_app_data(ssl));
    Fingerprint actual;
    unsigned size = 0;
    const X509* certificate = X509_STORE_CTX_get0_cert(store);
    if (certificate != nullptr &&
        X509_digest(certificate, EVP_sha256(), actual.sha256.data(), &size) == 1 &&
        CRYPTO_memcmp(actual.sha256.data(), self->remote_.sha256.data(), actual.sha256.size()) ==
            0) {
        return 1;
    }
    self->wrong_certificate_ = true;
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
    return 0;
}

Error Handshake::failure(int ssl_error) {
    if (wrong_certificate_) {
        return make_error(ErrorCode::kDenied,
                          "the peer's certificate is not the one of its fingerprint in the SDP");
    }
    const unsigned long code = ERR_peek_last_error();
    const char* reason = ERR_reason_error_string(code);
    const bool alert = ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET;
    if (ssl_error == SSL_ERROR_ZERO_RETURN || alert) {
        return make_error(ErrorCode::kClosed, "the peer gave up: {}",
                          alert && reason ? reason : "close notify");
    }
    return make_error(ErrorCode::kMalformed, "{}", reason != nullptr ? reason : "unreadable");
}

Result<srtp::Keys> Handshake::export_srtp_keys() {
    const SRTP_PROTECTION_PROFILE* chosen = SSL_get_selected_srtp_profile(ssl_.get());
    if (chosen == nullptr) {
        return make_error(ErrorCode::kUnsupported,
                          "no SRTP profile in common (AEAD_AES_128_GCM, AES128_CM_SHA1_80)");
    }
    srtp::Keys keys;
    keys.profile = static_cast<srtp::Profile>(chosen->id);
    const size_t salt = srtp::salt_size(keys.profile);
    std::array<uint8_t, 2 * (srtp::kKeySize + srtp::kMaxSaltSize)> material;
    const size_t size = 2 * (srtp::kKeySize + salt);
    if (SSL_export_keying_material(ssl_.get(), material.data(), size, kSrtpLabel.data(),
                                   kSrtpLabel.size(), nullptr, 0, 0) != 1) {
        return make_error(ErrorCode::kInternal, "no keying material");
    }
    // RFC 5764 §4.2: client key, server key, client salt, server salt.
    srtp::MasterKey& client = role_ == Role::kClient ? keys.local : keys.remote;
    srtp::MasterKey& server = role_ == Role::kClient ? keys.remote : keys.local;
    ByteReader reader(ByteSpan(material).first(size));
    take_into(reader, client.key);
    take_into(reader, server.key);
    take_into(reader, std::span(client.salt).first(salt));
    take_into(reader, std::span(server.salt).first(salt));
    OPENSSL_cleanse(material.data(), material.size());
    return keys;
}

// RFC 5246 §6.3: the key block has no MAC keys with GCM: client key, server key, client IV, server
// IV.
Result<RecordKey> Handshake::export_record_key() {
    std::array<uint8_t, SSL_MAX_MASTER_KEY_LENGTH> master;
    const size_t master_size =
        SSL_SESSION_get_master_key(SSL_get_session(ssl_.get()), master.data(), master.size());
    std::array<uint8_t, 2 * kRandomSize> randoms;  // "key expansion" takes the server's first
    SSL_get_server_random(ssl_.get(), randoms.data(), kRandomSize);
    SSL_get_client_random(ssl_.get(), randoms.data() + kRandomSize, kRandomSize);
    RecordKey key;
    std::array<uint8_t, 2 * sizeof(RecordKey)> block;
    const bool done = tls_prf(ByteSpan(master).first(master_size), "key expansion", randoms, block);
    OPENSSL_cleanse(master.data(), master.size());
    if (!done) {
        return make_error(ErrorCode::kInternal, "no key block");
    }
    ByteReader reader(block);
    const bool second = role_ == Role::kClient;  // the peer is the server
    reader.skip(second ? key.key.size() : 0);
    take_into(reader, key.key);
    reader.skip(second ? key.iv.size() : key.key.size());
    take_into(reader, key.iv);
    OPENSSL_cleanse(block.data(), block.size());
    return key;
}

const bio_method_st* Handshake::bio_method() {
    static const BIO_METHOD* const kMethod = [] {
        BIO_METHOD* method =
            BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagrams in memory");
        WEIR_CHECK(method != nullptr);
        BIO_meth_set_read(method, bio_read);
        BIO_meth_set_write(method, bio_write);
        BIO_meth_set_ctrl(method, bio_control);
        return method;
    }();
    return kMethod;
}

int Handshake::bio_read(bio_st* bio, char* out, int size) {
    auto* self = static_cast<Handshake*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (self->incoming_.empty()) {
        BIO_set_retry_read(bio);
        return -1;
    }
    const size_t taken = std::min(self->incoming_.size(), static_cast<size_t>(size));
    std::memcpy(out, self->incoming_.data(), taken);
    self->incoming_ =
        {};  // a datagram is read at once; what does not fit is lost, as with a socket
    return static_cast<int>(taken);
}

int Handshake::bio_write(bio_st* bio, const char* data, int size) {
    auto* self = static_cast<Handshake*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (self->out_ != nullptr && size > 0) {
        self->out_->emplace_back(data, data + size);
    }
    return size;
}

long Handshake::bio_control(bio_st* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

}  // namespace weir::dtls
