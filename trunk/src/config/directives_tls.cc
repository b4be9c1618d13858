// Certificates, and the proxies that are believed.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

using Certificates = std::vector<CertificateConfig>;

// The first of them belongs to the first of these, and so on.
void add_certificate(Certificates& list, const Value& value) {
    for (CertificateConfig& each : list) {
        if (each.certificate.empty()) {
            each.certificate = value.text;
            return;
        }
    }
    list.push_back({value.text, "", value.at.line});
}

void add_key(Certificates& list, const Value& value) {
    for (CertificateConfig& each : list) {
        if (each.key.empty()) {
            each.key = value.text;
            return;
        }
    }
    list.push_back({"", value.text, value.at.line});
}

constexpr std::string_view kCertificateDoc =
    "Certificate of `listen ... ssl`, a PEM file: the server's certificate first, "
    "then the chain. If it is given several times, each with its "
    "ssl_certificate_key, the name that the client asks for decides (SNI; wildcards "
    "too), and the first one is for all other names. A block without one uses those "
    "of the top level. Changed files are used without a reload.";
constexpr std::string_view kKeyDoc =
    "Its key, a PEM file without a passphrase, which other users must not be able to read.";

const Directive kTlsDirectives[] = {
    {.name = "ssl_certificate",
     .type = ValueType::kPath,
     .repeatable = true,
     .example = "/etc/letsencrypt/live/example.net/fullchain.pem",
     .doc = kCertificateDoc,
     .apply = [](const Target& t,
                 const Value& v) { add_certificate(t.config.tls.certificates, v); }},
    {.name = "ssl_certificate_key",
     .type = ValueType::kPath,
     .repeatable = true,
     .example = "/etc/letsencrypt/live/example.net/privkey.pem",
     .doc = kKeyDoc,
     .apply = [](const Target& t, const Value& v) { add_key(t.config.tls.certificates, v); }},
    {.name = "ssl_certificate_watch",
     .type = ValueType::kDuration,
     .default_text = "60s",
     .min = kSecond,
     .max = 24 * kHour,
     .unit = kSecond,
     .special = "0",
     .doc = "How often the files of certificates are checked. New ones are used without a "
            "restart; broken ones are reported and change nothing. With 0 they are read at a "
            "reload only.",
     .apply = [](const Target& t, const Value& v) { t.config.tls.watch = millis(v); }},
    {.name = "trusted_proxies",
     .type = ValueType::kNetworks,
     .special = "none",
     .repeatable = true,
     .example = "127.0.0.0/8 10.0.0.0/8",
     .doc = "Proxies that are trusted to name the address of a client: by the PROXY "
            "protocol, X-Forwarded-For, Forwarded, X-Real-IP and X-Forwarded-Proto. If it is "
            "not given, loopback is trusted, but cannot make a client local (doc/tls.md). "
            "With none, no proxy is trusted.",
     .apply =
         [](const Target& t, const Value& v) {
             auto& proxies = t.config.tls.trusted_proxies;
             if (t.first || !proxies) {
                 proxies.emplace();
             }
             proxies->insert(proxies->end(), v.networks.begin(), v.networks.end());
         }},
    {.name = "ssl_certificate",
     .contexts = kHttpServerContext,
     .type = ValueType::kPath,
     .repeatable = true,
     .example = "/etc/letsencrypt/live/example.net/fullchain.pem",
     .doc = "As at the top level, for this server only.",
     .apply = [](const Target& t,
                 const Value& v) { add_certificate(t.config.http_server.certificates, v); }},
    {.name = "ssl_certificate_key",
     .contexts = kHttpServerContext,
     .type = ValueType::kPath,
     .repeatable = true,
     .example = "/etc/letsencrypt/live/example.net/privkey.pem",
     .doc = kKeyDoc,
     .apply = [](const Target& t,
                 const Value& v) { add_key(t.config.http_server.certificates, v); }},
    {.name = "ssl_certificate",
     .contexts = kHttpApiContext,
     .type = ValueType::kPath,
     .repeatable = true,
     .example = "/etc/letsencrypt/live/example.net/fullchain.pem",
     .doc = "As at the top level, for the API only.",
     .apply = [](const Target& t,
                 const Value& v) { add_certificate(t.config.http_api.certificates, v); }},
    {.name = "ssl_certificate_key",
     .contexts = kHttpApiContext,
     .type = ValueType::kPath,
     .repeatable = true,
     .example = "/etc/letsencrypt/live/example.net/privkey.pem",
     .doc = kKeyDoc,
     .apply = [](const Target& t, const Value& v) { add_key(t.config.http_api.certificates, v); }},
};

}  // namespace

std::span<const Directive> tls_directives() {
    return kTlsDirectives;
}

}  // namespace weir::config
