#include "net/http/origin.h"

#include <algorithm>

#include "base/net_address.h"
#include "base/strings.h"

namespace weir::net {
namespace {

constexpr std::string_view kLocalEnd = ".localhost";

std::string_view without_port(std::string_view authority, std::string_view port) {
    return authority.ends_with(port) ? authority.substr(0, authority.size() - port.size())
                                     : authority;
}

// Ports that the scheme implies may be written or not. A page of https may come through a proxy
// that nobody trusts to say so; one of http never came by TLS.
bool same_site(std::string_view origin, std::string_view host, bool secure) {
    constexpr std::string_view kHttp = "http://";
    constexpr std::string_view kHttps = "https://";
    if (origin.starts_with(kHttps)) {
        return equals_ignore_case(without_port(origin.substr(kHttps.size()), ":443"),
                                  without_port(host, ":443"));
    }
    return !secure && origin.starts_with(kHttp) &&
           equals_ignore_case(without_port(origin.substr(kHttp.size()), ":80"),
                              without_port(host, ":80"));
}

}  // namespace

std::string_view host_name(std::string_view host) {
    if (host.starts_with('[')) {
        return host.substr(1, std::min(host.find(']'), host.size()) - 1);
    }
    return host.substr(0, host.find(':'));
}

bool is_own_host(std::string_view host, std::span<const std::string> own) {
    std::string_view name = host_name(host);
    if (name.ends_with('.')) {
        name.remove_suffix(1);  // the root
    }
    if (name.find('.') == std::string_view::npos || NetAddress::parse_ip(name, 0)) {
        return true;
    }
    return (name.size() > kLocalEnd.size() &&
            equals_ignore_case(name.substr(name.size() - kLocalEnd.size()), kLocalEnd)) ||
           std::ranges::any_of(
               own, [&](const std::string& each) { return equals_ignore_case(each, name); });
}

bool crosses_origin(const HttpRequest& request, bool secure) {
    const std::string_view origin = trimmed(request.headers.get("Origin").value_or(""));
    return !origin.empty() && !same_site(origin, request.host, secure);
}

std::string_view foreign_origin(const HttpRequest& request,
                                std::span<const std::string> own,
                                bool secure) {
    const std::string_view origin = trimmed(request.headers.get("Origin").value_or(""));
    // Behind TLS a name is proven by its certificate.
    const bool is_proven = secure || is_own_host(request.host, own);
    if (origin.empty() || (is_proven && same_site(origin, request.host, secure))) {
        return {};
    }
    return origin;
}

bool is_listed_origin(std::string_view origin, std::span<const std::string> listed) {
    return std::ranges::any_of(listed, [&](const std::string& each) {
        return each == "*" || equals_ignore_case(each, origin);
    });
}

}  // namespace weir::net
