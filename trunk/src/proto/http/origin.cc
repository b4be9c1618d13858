#include "proto/http/origin.h"

#include <algorithm>
#include <optional>

#include "base/net_address.h"
#include "base/strings.h"

namespace weir::http {
namespace {

constexpr std::string_view kLocalEnd = ".localhost";
constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

// ":8080", or ":" alone, as RFC 3986 §3.2.3 has it.
bool is_port(std::string_view text) {
    return text.starts_with(':') &&
           std::ranges::all_of(text.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

// RFC 6761 §6.3: such names never leave the machine.
bool is_below_localhost(std::string_view name) {
    return name.size() > kLocalEnd.size() &&
           equals_ignore_case(name.substr(name.size() - kLocalEnd.size()), kLocalEnd);
}

bool is_loopback_name(std::string_view name) {
    const std::optional<NetAddress> address = NetAddress::parse_ip(name, 0);
    return address ? address->is_loopback()
                   : equals_ignore_case(name, "localhost") || is_below_localhost(name);
}

std::string_view without_port(std::string_view authority, std::string_view port) {
    return authority.ends_with(port) ? authority.substr(0, authority.size() - port.size())
                                     : authority;
}

// Ports that the scheme implies may be written or not. A page of https may come through a proxy
// that nobody trusts to say so; one of http never came by TLS.
bool same_site(std::string_view origin, std::string_view host, bool secure) {
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
    const bool bracketed = host.starts_with('[');
    const size_t end = bracketed ? host.find(']') : std::min(host.find(':'), host.size());
    if (end == std::string_view::npos) {
        return {};
    }
    const std::string_view name = bracketed ? host.substr(1, end - 1) : host.substr(0, end);
    const std::string_view rest = host.substr(bracketed ? end + 1 : end);
    if (!rest.empty() && !is_port(rest)) {
        return {};
    }
    // In brackets there is an IPv6 address, and nowhere else.
    const bool six = name.find(':') != std::string_view::npos && NetAddress::parse_ip(name, 0);
    return bracketed == six ? name : std::string_view();
}

bool is_own_host(std::string_view host, std::span<const std::string> own) {
    if (host.empty()) {
        return true;
    }
    std::string_view name = host_name(host);
    if (name.ends_with('.')) {
        name.remove_suffix(1);  // the root
    }
    if (name.empty()) {
        return false;
    }
    if (name.find('.') == std::string_view::npos || NetAddress::parse_ip(name, 0)) {
        return true;
    }
    return is_below_localhost(name) || std::ranges::any_of(own, [&](const std::string& each) {
               return equals_ignore_case(each, name);
           });
}

bool crosses_origin(const Request& request, bool secure) {
    const std::string_view origin = trimmed(request.headers.get("Origin").value_or(""));
    return !origin.empty() && !same_site(origin, request.host, secure);
}

std::string_view foreign_origin(const Request& request,
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

bool is_loopback_page(const Request& request) {
    const std::string_view origin = trimmed(request.headers.get("Origin").value_or(""));
    const size_t scheme = origin.starts_with(kHttp)    ? kHttp.size()
                          : origin.starts_with(kHttps) ? kHttps.size()
                                                       : 0;
    return scheme > 0 && is_loopback_name(host_name(origin.substr(scheme))) &&
           is_loopback_name(host_name(request.host));
}

bool is_listed_origin(std::string_view origin, std::span<const std::string> listed) {
    return std::ranges::any_of(listed, [&](const std::string& each) {
        return each == "*" || equals_ignore_case(each, origin);
    });
}

}  // namespace weir::http
