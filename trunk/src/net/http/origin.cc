#include "net/http/origin.h"

#include <algorithm>
#include <string_view>

#include "base/strings.h"
#include "net/trusted_proxies.h"
#include "proto/http/request.h"

namespace weir::net {
namespace {

constexpr size_t kMaxHost = 255;

bool is_host(std::string_view host) {
    return !host.empty() && host.size() <= kMaxHost && std::ranges::all_of(host, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == ':' || c == '[' || c == ']' || c == '_';
    });
}

}  // namespace

std::string origin_of(HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    std::string host = request.host;
    if (exchange.believes_proxy()) {
        const std::string_view said = request.headers.get("X-Forwarded-Host").value_or("");
        const std::string_view first = trim(said.substr(0, said.find(',')));
        host = is_host(first) ? first : host;
    }
    if (!is_host(host)) {
        host = exchange.local().to_string();
    }
    return (exchange.secure() ? "https://" : "http://") + host;
}

bool may_hide_origin(const HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    return request.version_minor == 0 ||
           (names_a_proxy(request.headers) && !exchange.believes_proxy());
}

}  // namespace weir::net
