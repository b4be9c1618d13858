#include "app/run/page_security.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "base/net_address.h"
#include "base/strings.h"
#include "io/tcp.h"
#include "proto/http/origin.h"

namespace weir::app {
namespace {

constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;

bool has_public_name(std::string_view host) {
    std::string_view name = http::host_name(host);
    if (name.ends_with('.')) {
        name.remove_suffix(1);
    }
    constexpr std::string_view kLocal = ".localhost";
    return name.find('.') != std::string_view::npos && !NetAddress::parse_ip(name, 0) &&
           (name.size() < kLocal.size() ||
            !equals_ignore_case(name.substr(name.size() - kLocal.size()), kLocal));
}

// Whether browsers of the network that would use https alone reach all that they reach now.
bool https_reaches_all(const config::Config& config) {
    bool plain_80 = false;
    bool tls_443 = false;
    const auto look = [&](bool enabled, const std::vector<config::ListenAddress>& list) {
        return !enabled || std::ranges::all_of(list, [&](const config::ListenAddress& listen) {
            const auto address = io::SocketAddress::parse(listen.address);
            const uint16_t port = address.ok() ? address->port() : 0;
            tls_443 = tls_443 || (listen.ssl && port == kHttpsPort);
            plain_80 = plain_80 || (!listen.ssl && port == kHttpPort);
            return listen.ssl || port == kHttpPort || (address.ok() && address->is_loopback());
        });
    };
    return look(config.http_server.enabled, config.http_server.listen) &&
           look(config.http_api.enabled, config.http_api.listen) && (!plain_80 || tls_443);
}

}  // namespace

http::Fields frame_fields(const config::HttpServerConfig& config) {
    const std::vector<std::string>& list = config.frame_ancestors;
    std::string sources;
    for (const std::string& each : list) {
        if (each == "none") {
            sources = "'none'";
            break;
        }
        sources += sources.empty() ? "" : " ";
        sources += each == "self" ? "'self'" : each;
    }
    http::Fields fields{{"Content-Security-Policy", "frame-ancestors " + sources}};
    // For browsers that know no frame-ancestors; it has no words for other sites.
    if (sources == "'none'") {
        fields.add("X-Frame-Options", "DENY");
    } else if (sources == "'self'") {
        fields.add("X-Frame-Options", "SAMEORIGIN");
    }
    return fields;
}

std::string hsts_value(const config::Config& config, std::string_view host) {
    const config::HstsConfig& hsts = config.http_server.hsts;
    const Millis age = !hsts.is_auto               ? hsts.max_age
                       : https_reaches_all(config) ? Millis(kAutoHsts)
                                                   : Millis(0);
    if (age <= Millis(0) || !has_public_name(host)) {
        return {};
    }
    return fmt::format("max-age={}", std::chrono::duration_cast<Seconds>(age).count());
}

}  // namespace weir::app
