// The other side of a handshake: plain OpenSSL, with the settings of a test. It shares nothing with
// the code under test.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/srtp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/bytes.h"
#include "base/check.h"
#include "proto/dtls/fingerprint.h"
#include "proto/dtls/handshake.h"

namespace weir::dtls {

class ReferencePeer {
  public:
    struct Options {
        Role role = Role::kClient;
        const char* srtp_profiles = "SRTP_AES128_CM_SHA1_80:SRTP_AEAD_AES_128_GCM";  // empty: none
        const char* cipher_suites = "HIGH";
        bool rsa = false;
        bool certificate = true;
        size_t padding = 0;        // of the certificate, to make it long
        size_t hello_padding = 0;  // the same for the ClientHello
        long mtu = 1200;
    };

    explicit ReferencePeer(const Options& options) : context_(SSL_CTX_new(DTLS_method())) {
        SSL_CTX_set_security_level(context_, 0);
        SSL_CTX_set_options(context_, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_TICKET);
        WEIR_CHECK(SSL_CTX_set_cipher_list(context_, options.cipher_suites) == 1);
        SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
        if (*options.srtp_profiles != 0) {
            WEIR_CHECK(SSL_CTX_set_tlsext_use_srtp(context_, options.srtp_profiles) == 0);
        }
        if (options.certificate) {
            make_certificate(options);
        }
        Bytes protocols;  // of ALPN
        while (protocols.size() < options.hello_padding) {
            protocols.push_back(200);
            protocols.resize(protocols.size() + 200, 'x');
        }
        if (!protocols.empty()) {
            SSL_CTX_set_alpn_protos(context_, protocols.data(),
                                    static_cast<unsigned>(protocols.size()));
        }
        ssl_ = SSL_new(context_);
        SSL_set_mtu(ssl_, options.mtu);
        BIO* in = BIO_new(BIO_s_mem());
        BIO_set_mem_eof_return(in, -1);
        SSL_set_bio(ssl_, in, new_sink());
        options.role == Role::kClient ? SSL_set_connect_state(ssl_) : SSL_set_accept_state(ssl_);
    }

    ReferencePeer(const ReferencePeer&) = delete;
    ReferencePeer& operator=(const ReferencePeer&) = delete;

    ~ReferencePeer() {
        SSL_free(ssl_);
        SSL_CTX_free(context_);
    }

    const Fingerprint& fingerprint() const { return fingerprint_; }

    // Goes on with one datagram, or with none; what it says is in take_output().
    void step(ByteSpan datagram = {}) {
        if (!datagram.empty()) {
            BIO_write(SSL_get_rbio(ssl_), datagram.data(), static_cast<int>(datagram.size()));
        }
        ERR_clear_error();
        if (!is_done()) {
            const int result = SSL_do_handshake(ssl_);
            failed_ =
                failed_ || (result <= 0 && SSL_get_error(ssl_, result) != SSL_ERROR_WANT_READ);
        } else {
            uint8_t unused[2000];
            SSL_read(ssl_, unused, sizeof unused);
        }
    }

    // OpenSSL's own timer, which runs by the wall clock, is not waited for: the flight goes out
    // again as it was.
    void repeat() { output_.insert(output_.end(), flight_.begin(), flight_.end()); }

    std::vector<Bytes> take_output() {
        if (!output_.empty()) {
            flight_ = output_;
        }
        return std::exchange(output_, {});
    }

    bool is_done() const { return SSL_is_init_finished(ssl_) != 0; }

    bool has_failed() const { return failed_; }

    bool got_close() const { return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0; }

    void close() { SSL_shutdown(ssl_); }

    std::string certificate_of_peer() const {
        X509* certificate = SSL_get1_peer_certificate(ssl_);
        Fingerprint out;
        unsigned size = 0;
        WEIR_CHECK(certificate &&
                   X509_digest(certificate, EVP_sha256(), out.sha256.data(), &size) == 1);
        X509_free(certificate);
        return out.to_string();
    }

    unsigned long srtp_profile() const {
        const SRTP_PROTECTION_PROFILE* profile = SSL_get_selected_srtp_profile(ssl_);
        return profile ? profile->id : 0;
    }

    // RFC 5764 §4.2, all of it.
    Bytes srtp_material(size_t size) const {
        Bytes out(size);
        WEIR_CHECK(SSL_export_keying_material(ssl_, out.data(), size, "EXTRACTOR-dtls_srtp", 19,
                                              nullptr, 0, 0) == 1);
        return out;
    }

  private:
    void make_certificate(const Options& options) {
        static EVP_PKEY* const kRsa = EVP_RSA_gen(2048);  // takes its time
        static EVP_PKEY* const kEcdsa = EVP_EC_gen("P-256");
        EVP_PKEY* key = options.rsa ? kRsa : kEcdsa;
        X509* certificate = X509_new();
        X509_set_version(certificate, 2);
        static long serial = 0;
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
        X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
        X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
        X509_NAME* name = X509_get_subject_name(certificate);
        const std::string unit(60, 'x');
        for (size_t made = 0; made <= options.padding; made += unit.size()) {
            X509_NAME_add_entry_by_txt(name, "OU", MBSTRING_ASC,
                                       reinterpret_cast<const uint8_t*>(unit.data()), -1, -1, 0);
        }
        X509_set_issuer_name(certificate, name);
        X509_set_pubkey(certificate, key);
        WEIR_CHECK(X509_sign(certificate, key, EVP_sha256()) > 0);
        unsigned size = 0;
        X509_digest(certificate, EVP_sha256(), fingerprint_.sha256.data(), &size);
        WEIR_CHECK(SSL_CTX_use_certificate(context_, certificate) == 1 &&
                   SSL_CTX_use_PrivateKey(context_, key) == 1);
        X509_free(certificate);
    }

    // Each write is a datagram.
    BIO* new_sink() {
        static BIO_METHOD* const kMethod = [] {
            BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sink");
            BIO_meth_set_write(method, [](BIO* bio, const char* data, int size) {
                static_cast<ReferencePeer*>(BIO_get_data(bio))
                    ->output_.emplace_back(data, data + size);
                return size;
            });
            BIO_meth_set_ctrl(method, [](BIO*, int command, long, void*) {
                return command == BIO_CTRL_FLUSH ? 1L : 0L;
            });
            return method;
        }();
        BIO* bio = BIO_new(kMethod);
        BIO_set_data(bio, this);
        BIO_set_init(bio, 1);
        return bio;
    }

    SSL_CTX* context_;
    SSL* ssl_ = nullptr;
    Fingerprint fingerprint_;
    std::vector<Bytes> output_;
    std::vector<Bytes> flight_;
    bool failed_ = false;
};

}  // namespace weir::dtls
