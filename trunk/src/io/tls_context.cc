// Contexts of OpenSSL: what is offered, certificates, and which one answers for a name.
#include <algorithm>
#include <ctime>

#include <arpa/inet.h>
#include <sys/stat.h>

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/file.h"
#include "base/host_names.h"
#include "io/tls.h"

namespace weir::io {
namespace {

// Forward secrecy and authenticated encryption only (RFC 9325 §4.2). The client's order counts: it
// knows whether it has hardware for AES.
constexpr const char* kCiphers12 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* kCiphers13 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kGroups = "X25519:P-256:P-384";
constexpr size_t kMaxNames = 200;  // of one certificate
constexpr size_t kMaxNameText = 255;
constexpr long kTicketSeconds = 4 * 3600;
constexpr int64_t kDay = 24 * 3600;
constexpr long kMaxPeerChain = 64 * 1024;

struct FreeX509 {
    void operator()(X509* certificate) const { X509_free(certificate); }
};

using X509Pointer = std::unique_ptr<X509, FreeX509>;

int no_passphrase(char* /*out*/, int /*size*/, int /*writing*/, void* /*unused*/) {
    return 0;
}

// The reason of OpenSSL's oldest error; the queue is empty afterwards.
std::string openssl_reason() {
    const char* reason = ERR_reason_error_string(ERR_peek_error());
    std::string text = reason != nullptr ? reason : "unknown reason";
    ERR_clear_error();
    return text;
}

std::string text_of(const ASN1_STRING* string) {
    const auto size = static_cast<size_t>(std::max(0, ASN1_STRING_length(string)));
    const auto* bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(string));
    return {bytes, std::min(size, kMaxNameText)};
}

void add_name(std::vector<std::string>& names, const GENERAL_NAME& name) {
    if (name.type == GEN_DNS) {
        names.push_back(text_of(name.d.dNSName));
        return;
    }
    if (name.type != GEN_IPADD) {
        return;
    }
    char text[INET6_ADDRSTRLEN] = "";
    const int size = ASN1_STRING_length(name.d.iPAddress);
    const int family = size == 4 ? AF_INET : AF_INET6;
    if (size == 4 || size == 16) {
        inet_ntop(family, ASN1_STRING_get0_data(name.d.iPAddress), text, sizeof text);
        names.emplace_back(text);
    }
}

std::string common_name(const X509_NAME* name) {
    const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    return at < 0 ? "" : text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
}

std::vector<std::string> names_of(X509* certificate) {
    std::vector<std::string> names;
    auto* list = static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
    for (int i = 0; i < sk_GENERAL_NAME_num(list) && names.size() < kMaxNames; i++) {
        add_name(names, *sk_GENERAL_NAME_value(list, i));
    }
    GENERAL_NAMES_free(list);
    if (names.empty()) {
        if (std::string name = common_name(X509_get_subject_name(certificate)); !name.empty()) {
            names.push_back(std::move(name));
        }
    }
    return names;
}

int64_t seconds_of(const ASN1_TIME* time) {
    std::tm broken{};
    return ASN1_TIME_to_tm(time, &broken) == 1 ? timegm(&broken) : 0;
}

TlsCertificateInfo info_of(X509* certificate, const std::string& file) {
    TlsCertificateInfo info;
    info.file = file;
    info.names = names_of(certificate);
    info.issuer = common_name(X509_get_issuer_name(certificate));
    const EVP_PKEY* key = X509_get0_pubkey(certificate);
    const int kind = key != nullptr ? EVP_PKEY_get_base_id(key) : EVP_PKEY_NONE;
    info.key = fmt::format("{} {}",
                           kind == EVP_PKEY_RSA       ? "RSA"
                           : kind == EVP_PKEY_EC      ? "EC"
                           : kind == EVP_PKEY_ED25519 ? "Ed25519"
                                                      : "other",
                           key != nullptr ? EVP_PKEY_get_bits(key) : 0);
    info.not_before_s = seconds_of(X509_get0_notBefore(certificate));
    info.not_after_s = seconds_of(X509_get0_notAfter(certificate));
    return info;
}

// Whether a file that was expected to hold the other has one, for the message.
bool has_certificate(std::FILE* file) {
    std::rewind(file);
    const X509Pointer found(PEM_read_X509(file, nullptr, no_passphrase, nullptr));
    ERR_clear_error();
    return found != nullptr;
}

// Also one with a passphrase.
bool names_private_key(std::FILE* file) {
    std::rewind(file);
    char line[256];  // longer lines come in pieces, and no mark is that long
    while (std::fgets(line, sizeof line, file) != nullptr) {
        if (std::string_view(line).find("PRIVATE KEY-----") != std::string_view::npos) {
            return true;
        }
    }
    return false;
}

bool has_private_key(std::FILE* file) {
    std::rewind(file);
    EVP_PKEY* const key = PEM_read_PrivateKey(file, nullptr, no_passphrase, nullptr);
    ERR_clear_error();
    const bool found = key != nullptr;
    EVP_PKEY_free(key);
    return found;
}

Result<TlsCertificateInfo> read_info(const std::string& file) {
    Result<FilePointer> opened = open_regular_file(file);
    if (!opened.ok()) {
        return opened.take_error().with_context("ssl_certificate");
    }
    ERR_clear_error();
    const X509Pointer certificate(PEM_read_X509(opened->get(), nullptr, no_passphrase, nullptr));
    if (!certificate) {
        const std::string reason = openssl_reason();
        if (has_private_key(opened->get())) {
            return make_error(ErrorCode::kMalformed,
                              "ssl_certificate {}: a private key is in it, and no certificate; "
                              "that belongs to ssl_certificate_key. Expected the certificate "
                              "(fullchain.pem of certbot)",
                              file);
        }
        return make_error(ErrorCode::kMalformed,
                          "ssl_certificate {}: no certificate in it ({}); expected PEM, the "
                          "server's own first, then the chain",
                          file, reason);
    }
    return info_of(certificate.get(), file);
}

Error use_files(SSL_CTX* context, const TlsCertificateFiles& files) {
    Result<FilePointer> key = open_regular_file(files.key);
    if (!key.ok()) {
        return key.take_error().with_context("ssl_certificate_key");
    }
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
        return make_error(ErrorCode::kMalformed, "ssl_certificate {}: {}", files.certificate,
                          openssl_reason());
    }
    EVP_PKEY* read = PEM_read_PrivateKey(key->get(), nullptr, no_passphrase, nullptr);
    if (read == nullptr) {
        const std::string reason = openssl_reason();
        if (!names_private_key(key->get()) && has_certificate(key->get())) {
            return make_error(ErrorCode::kMalformed,
                              "ssl_certificate_key {}: a certificate is in it, and no key; that "
                              "belongs to ssl_certificate. Expected its private key (privkey.pem "
                              "of certbot)",
                              files.key);
        }
        return make_error(ErrorCode::kMalformed,
                          "ssl_certificate_key {}: no usable key in it ({}); expected PEM without "
                          "a passphrase",
                          files.key, reason);
    }
    const bool fits =
        SSL_CTX_use_PrivateKey(context, read) == 1 && SSL_CTX_check_private_key(context) == 1;
    EVP_PKEY_free(read);
    if (!fits) {
        ERR_clear_error();
        return make_error(ErrorCode::kMalformed,
                          "ssl_certificate_key {}: the key does not belong to the certificate {}",
                          files.key, files.certificate);
    }
    return {};
}

// RFC 7301: HTTP/1.1 is all that is spoken; a client that names nothing we know goes on without.
int choose_protocol(SSL* /*ssl*/,
                    const unsigned char** out,
                    unsigned char* out_size,
                    const unsigned char* offered,
                    unsigned int offered_size,
                    void* /*unused*/) {
    static constexpr unsigned char kOurs[] = "\x08http/1.1";
    unsigned char* chosen = nullptr;
    if (SSL_select_next_proto(&chosen, out_size, kOurs, sizeof kOurs - 1, offered, offered_size) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

int choose_certificate(SSL* ssl, int* /*alert*/, void* argument) {
    const auto* self = static_cast<const TlsContext*>(argument);
    const char* host = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (host == nullptr) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    SSL_set_SSL_CTX(ssl, self->raw_for(host));
    return SSL_TLSEXT_ERR_OK;
}

void set_common(SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(
        context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // A read returns after each record without data, so that these can be counted.
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    WEIR_CHECK(SSL_CTX_set_cipher_list(context, kCiphers12) == 1 &&
               SSL_CTX_set_ciphersuites(context, kCiphers13) == 1 &&
               SSL_CTX_set1_groups_list(context, kGroups) == 1);
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const {
    SSL_CTX_free(context);
}

TlsContext::~TlsContext() = default;

ssl_ctx_st* TlsContext::raw() const {
    return entries_.front().context.get();
}

ssl_ctx_st* TlsContext::raw_for(std::string_view host) const {
    const size_t at = choose_by_host(
        entries_.size(), host,
        [this](size_t i) -> const std::vector<std::string>& { return entries_[i].names; });
    return entries_[at].context.get();
}

Error TlsContext::add(const TlsCertificateFiles& files) {
    WEIR_TRY_ASSIGN(TlsCertificateInfo info, read_info(files.certificate));
    // The same names with a key of another kind: the client's algorithms decide between the two.
    for (size_t i = 0; i < entries_.size(); i++) {
        const bool same_kind = std::ranges::any_of(certificates_, [&](const auto& other) {
            return other.names == info.names && other.key.substr(0, 2) == info.key.substr(0, 2);
        });
        if (!same_kind && entries_[i].names == info.names) {
            WEIR_TRY(use_files(entries_[i].context.get(), files));
            certificates_.push_back(std::move(info));
            return {};
        }
    }
    std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_server_method()));
    WEIR_CHECK(context != nullptr);
    set_common(context.get());
    // Tickets keep nothing here: what the client holds is sealed with a key of this context. One
    // is enough, since a client of ours opens few connections at once.
    SSL_CTX_set_num_tickets(context.get(), 1);
    SSL_CTX_set_timeout(context.get(), kTicketSeconds);
    static constexpr unsigned char kSessionContext[] = "weir";
    SSL_CTX_set_session_id_context(context.get(), kSessionContext, sizeof kSessionContext - 1);
    SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
    WEIR_TRY(use_files(context.get(), files));
    entries_.push_back({std::move(context), info.names});
    certificates_.push_back(std::move(info));
    return {};
}

Result<std::shared_ptr<const TlsContext>> TlsContext::server(
    std::span<const TlsCertificateFiles> files) {
    if (files.empty()) {
        return make_error(ErrorCode::kNotFound, "no certificate is given (ssl_certificate)");
    }
    if (files.size() > kMaxCertificates) {
        return make_error(ErrorCode::kLimit, "{} certificates are given, at most {} are possible",
                          files.size(), kMaxCertificates);
    }
    std::shared_ptr<TlsContext> made(new TlsContext());
    for (const TlsCertificateFiles& each : files) {
        WEIR_TRY(made->add(each));
    }
    // OpenSSL's macro for it has a cast that we do not write.
    SSL_CTX_callback_ctrl(made->raw(), SSL_CTRL_SET_TLSEXT_SERVERNAME_CB,
                          reinterpret_cast<void (*)()>(choose_certificate));
    SSL_CTX_set_tlsext_servername_arg(made->raw(), made.get());
    return std::shared_ptr<const TlsContext>(std::move(made));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::client(const TlsClientOptions& options) {
    std::shared_ptr<TlsContext> made(new TlsContext());
    std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_client_method()));
    WEIR_CHECK(context != nullptr);
    set_common(context.get());
    SSL_CTX_set_max_cert_list(context.get(), kMaxPeerChain);
    ERR_clear_error();
    if (options.verify) {
        SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
        if (SSL_CTX_set_default_verify_paths(context.get()) != 1) {
            return make_error(ErrorCode::kSystem,
                              "the system's certificates cannot be read: {}; is the package "
                              "ca-certificates installed?",
                              openssl_reason());
        }
    }
    if (!options.ca_file.empty() &&
        SSL_CTX_load_verify_file(context.get(), options.ca_file.c_str()) != 1) {
        return make_error(ErrorCode::kMalformed, "{}: cannot be used as certificates to trust: {}",
                          options.ca_file, openssl_reason());
    }
    made->entries_.push_back({std::move(context), {}});
    made->verifies_ = options.verify;
    return std::shared_ptr<const TlsContext>(std::move(made));
}

std::vector<std::string> tls_certificate_warnings(const TlsCertificateFiles& files,
                                                  const TlsCertificateInfo& info,
                                                  int64_t now_s) {
    std::vector<std::string> warnings;
    if (info.not_after_s <= now_s) {
        warnings.push_back(
            fmt::format("{}: the certificate has expired {} days ago; clients will "
                        "refuse it",
                        files.certificate, (now_s - info.not_after_s) / kDay));
    } else if (info.not_before_s > now_s) {
        warnings.push_back(
            fmt::format("{}: the certificate is not valid yet, in {} days it is; is "
                        "the clock right?",
                        files.certificate, (info.not_before_s - now_s) / kDay + 1));
    }

    struct stat status {};

    if (stat(files.key.c_str(), &status) == 0 && (status.st_mode & (S_IRWXO)) != 0) {
        warnings.push_back(
            fmt::format("{}: the key can be read or changed by every user of this "
                        "machine; chmod 640 it",
                        files.key));
    }
    return warnings;
}

}  // namespace weir::io
