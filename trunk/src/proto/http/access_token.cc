#include "proto/http/access_token.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/http/target.h"

namespace weir::http {
namespace {

constexpr std::string_view kScheme = "Bearer";
constexpr size_t kMaxQueryItems = 64;

// Any printable character but a blank: RFC 6750's b64token and what people choose as keys.
bool is_token(std::string_view text) {
    return text.size() <= kMaxAccessToken &&
           std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

// Directives of HLS, and what players add to get past caches.
bool is_of_one_request(std::string_view name) {
    return name.starts_with("_HLS_") || name == "_" || name == "_t" || name == "_ts";
}

}  // namespace

std::optional<std::string_view> bearer_token(const Request& request) {
    const std::string_view field = trimmed(request.headers.get("Authorization").value_or(""));
    if (field.size() < kScheme.size() ||
        !equal_ignoring_case(field.substr(0, kScheme.size()), kScheme) ||
        (field.size() > kScheme.size() && field[kScheme.size()] != ' ')) {
        return std::string_view();
    }
    const std::string_view token = trimmed(field.substr(kScheme.size()));
    return !token.empty() && is_token(token) ? std::optional(token) : std::nullopt;
}

std::optional<std::string_view> access_token(const Request& request) {
    const std::optional<std::string_view> bearer = bearer_token(request);
    if (!bearer || !bearer->empty()) {
        return bearer;
    }
    const std::string_view key = request.query.get_or("key", request.query.get_or("token", ""));
    return key.size() <= kMaxAccessToken ? std::optional(key) : std::nullopt;
}

std::string query_with_token(std::string_view query, std::string_view token) {
    std::string all(query);
    const std::vector<QueryItem> items = parse_query(query);
    if (token.empty() || query_value(items, "key") || query_value(items, "token")) {
        return all;
    }
    return all + (all.empty() ? "" : "&") + "key=" + percent_encoded(token);
}

std::string carried_query(std::string_view query,
                          std::string_view session,
                          std::initializer_list<std::string_view> without) {
    std::string out = session.empty() ? "" : fmt::format("session={}", session);
    size_t others = 0;
    for (const std::string_view item : split(query, '&', kMaxQueryItems)) {
        const std::string_view name = item.substr(0, item.find('='));
        const bool lets_in = name == "key" || name == "token" || name == "vhost";
        if (item.empty() || name == "session" || is_of_one_request(name) ||
            std::ranges::find(without, name) != without.end()) {
            continue;
        }
        others += lets_in ? 0 : item.size();
        if (lets_in || others <= kMaxCarried) {
            out += out.empty() ? "" : "&";
            out += item;
        }
    }
    // It goes into lines and quotes of a playlist.
    std::erase_if(out, [](char c) { return c == '"' || c <= ' ' || c == 0x7F; });
    return out;
}

}  // namespace weir::http
