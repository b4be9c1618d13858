#include "net/http/access_token.h"

#include <algorithm>

namespace weir::net {
namespace {

constexpr std::string_view kScheme = "Bearer";

// Any printable character but a blank: RFC 6750's b64token and what people choose as keys.
bool is_token(std::string_view text) {
    return text.size() <= kMaxAccessToken &&
           std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

std::optional<std::string_view> access_token(const HttpRequest& request) {
    const std::string_view field = trimmed(request.headers.get("Authorization").value_or(""));
    if (field.size() < kScheme.size() ||
        !equal_ignoring_case(field.substr(0, kScheme.size()), kScheme) ||
        (field.size() > kScheme.size() && field[kScheme.size()] != ' ')) {
        const std::string_view key = request.query.get_or("key", "");
        return key.size() <= kMaxAccessToken ? std::optional(key) : std::nullopt;
    }
    const std::string_view token = trimmed(field.substr(kScheme.size()));
    return !token.empty() && is_token(token) ? std::optional(token) : std::nullopt;
}

}  // namespace weir::net
