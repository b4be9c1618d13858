#include "proto/http/url.h"

#include <algorithm>

#include "base/net_address.h"
#include "base/strings.h"

namespace weir::http {
namespace {

constexpr size_t kMaxHostBytes = 253;  // RFC 1035 §2.3.4, without the last dot
constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;

bool is_host_name(std::string_view host) {
    const bool plain = std::ranges::all_of(host, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    });
    // No label is empty (RFC 1035 §2.3.1).
    return plain && !host.empty() && host.size() <= kMaxHostBytes && !host.starts_with('.') &&
           !host.ends_with('.') && host.find("..") == std::string_view::npos;
}

Error malformed(std::string_view why) {
    return make_error(ErrorCode::kMalformed,
                      "expected http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]{}", why);
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
    Url url;
    std::string_view rest = text;
    if (equals_ignore_case(text.substr(0, 7), "http://")) {
        rest.remove_prefix(7);
    } else if (equals_ignore_case(text.substr(0, 8), "https://")) {
        rest.remove_prefix(8);
        url.tls = true;
    } else {
        return malformed("");
    }
    if (text.size() > kMaxUrlBytes) {
        return malformed(fmt::format(", {} bytes at most", kMaxUrlBytes));
    }
    if (!std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; })) {
        return malformed(", with everything but plain characters as %XX");
    }
    if (text.find('#') != std::string_view::npos) {
        return malformed(" without a fragment (#)");
    }
    const size_t end = std::min(rest.find_first_of("/?"), rest.size());
    std::string_view authority = rest.substr(0, end);
    url.target = rest.substr(end);
    if (!url.target.starts_with('/')) {
        url.target.insert(0, "/");
    }
    if (authority.find('@') != std::string_view::npos) {
        return malformed(" without a user and password");
    }
    url.port = url.tls ? kHttpsPort : kHttpPort;
    const size_t bracket = authority.rfind(']');
    if (const size_t colon = authority.rfind(':');
        colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
        const std::optional<uint64_t> port = parse_uint(authority.substr(colon + 1), 1, UINT16_MAX);
        if (!port) {
            return malformed(", PORT from 1 to 65535");
        }
        url.port = static_cast<uint16_t>(*port);
        authority = authority.substr(0, colon);
    }
    if (authority.starts_with('[') && authority.ends_with(']')) {
        authority = authority.substr(1, authority.size() - 2);
        const std::optional<NetAddress> ip = NetAddress::parse_ip(authority, 0);
        if (!ip || authority.find(':') == std::string_view::npos) {
            return malformed(", with an IPv6 address in the brackets");
        }
        url.host = ip->ip_text();
        return url;
    }
    url.host = to_lower(authority);
    if (url.host.ends_with('.')) {
        url.host.pop_back();
    }
    if (!is_host_name(url.host)) {
        return malformed("");
    }
    return url;
}

Result<Url> Url::resolve(std::string_view location) const {
    if (location.find("://") != std::string_view::npos &&
        location.find("://") < location.find_first_of("/?")) {
        return parse(location);
    }
    if (location.starts_with("//")) {
        return parse(fmt::format("{}:{}", tls ? "https" : "http", location));
    }
    if (location.starts_with('/')) {
        return parse(fmt::format("{}{}", origin(), location));
    }
    const std::string_view path = std::string_view(target).substr(0, target.find('?'));
    if (location.empty() || location.starts_with('?')) {
        return parse(fmt::format("{}{}{}", origin(), path, location));
    }
    return parse(fmt::format("{}{}{}", origin(), path.substr(0, path.rfind('/') + 1), location));
}

std::string Url::authority() const {
    const std::string name = host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
    return port == (tls ? kHttpsPort : kHttpPort) ? name : fmt::format("{}:{}", name, port);
}

std::string Url::origin() const {
    return fmt::format("{}://{}", tls ? "https" : "http", authority());
}

std::string Url::shown() const {
    return origin() + target.substr(0, target.find('?'));
}

}  // namespace weir::http
