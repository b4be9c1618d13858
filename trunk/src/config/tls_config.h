// What a configuration says about TLS and about proxies in front of the server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/access_rules.h"

namespace weir::config {

// One ssl_certificate with its ssl_certificate_key.
struct CertificateConfig {
    std::string certificate;
    std::string key;
    uint32_t line = 0;  // of ssl_certificate

    // By files only: where a line stands is no difference.
    bool operator==(const CertificateConfig& other) const {
        return certificate == other.certificate && key == other.key;
    }
};

struct TlsConfig {
    std::vector<CertificateConfig> certificates;  // of the top level
    Millis watch{0};                              // how often the files are looked at; 0: never
    // None: not given, loopback.
    std::optional<std::vector<IpNetwork>> trusted_proxies;

    bool operator==(const TlsConfig&) const = default;
};

}  // namespace weir::config
