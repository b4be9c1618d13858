#include "test/support/io/certificates.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "base/check.h"

namespace weir::io {
namespace {

constexpr unsigned kRsaBits = 2048;

void add_extension(X509* certificate, int kind, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    WEIR_CHECK(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

}  // namespace

TestCertificates::TestCertificates() {
    std::string pattern = std::filesystem::temp_directory_path() / "weir-test-XXXXXX";
    WEIR_CHECK(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
}

TestCertificates::~TestCertificates() {
    std::filesystem::remove_all(folder_);
}

std::string TestCertificates::write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
}

TlsCertificateFiles TestCertificates::make(const std::string& name, const Wanted& wanted) {
    static long serial = 1;
    EVP_PKEY* key = wanted.rsa ? EVP_RSA_gen(kRsaBits) : EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    WEIR_CHECK(key != nullptr && certificate != nullptr);
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate), wanted.begins_s);
    X509_gmtime_adj(X509_getm_notAfter(certificate), wanted.ends_s);
    X509_set_pubkey(certificate, key);
    X509_NAME* subject = X509_get_subject_name(certificate);
    const std::string common = wanted.names.empty() ? "nameless" : wanted.names.front();
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(common.c_str()), -1, -1, 0);
    X509_set_issuer_name(certificate, subject);
    std::string names;
    for (const std::string& each : wanted.names) {
        const bool address = each.find_first_not_of("0123456789.") == std::string::npos;
        names += (names.empty() ? "" : ",") + std::string(address ? "IP:" : "DNS:") + each;
    }
    if (!names.empty()) {
        add_extension(certificate, NID_subject_alt_name, names);
    }
    add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
    WEIR_CHECK(X509_sign(certificate, key, EVP_sha256()) > 0);
    TlsCertificateFiles files{folder_ + "/" + name + ".pem", folder_ + "/" + name + ".key"};
    std::FILE* out = std::fopen(files.certificate.c_str(), "w");
    WEIR_CHECK(out != nullptr && PEM_write_X509(out, certificate) == 1);
    std::fclose(out);
    out = std::fopen(files.key.c_str(), "w");
    WEIR_CHECK(out != nullptr &&
               PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
    std::fclose(out);
    std::filesystem::permissions(
        files.key, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return files;
}

}  // namespace weir::io
