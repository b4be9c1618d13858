// Methods of HTTP requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::http {

// The methods that are served. Any other one is answered 501 before a handler sees it.
enum class Method : uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions };

// "GET", "HEAD" ...
std::string_view to_string(Method method);

// Exact (methods are case-sensitive, RFC 9110 §9.1); nullopt when it is not one of ours.
std::optional<Method> parse_method(std::string_view text);

// Sets of methods, for routes: method_bit(kGet) | method_bit(kDelete).
constexpr uint32_t method_bit(Method method) {
    return uint32_t{1} << static_cast<uint32_t>(method);
}

}  // namespace weir::http
