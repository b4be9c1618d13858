#include "net/http/request.h"

#include <array>

namespace weir::net {

namespace {

struct MethodName {
    HttpMethod method;
    std::string_view name;
};

constexpr std::array<MethodName, 7> kMethods = {{
    {HttpMethod::kGet, "GET"},
    {HttpMethod::kHead, "HEAD"},
    {HttpMethod::kPost, "POST"},
    {HttpMethod::kPut, "PUT"},
    {HttpMethod::kPatch, "PATCH"},
    {HttpMethod::kDelete, "DELETE"},
    {HttpMethod::kOptions, "OPTIONS"},
}};

}  // namespace

std::string_view to_string(HttpMethod method) {
    return kMethods[static_cast<size_t>(method)].name;
}

std::optional<HttpMethod> parse_method(std::string_view text) {
    for (const MethodName& known : kMethods) {
        if (known.name == text) {
            return known.method;
        }
    }
    return std::nullopt;
}

std::optional<std::string_view> HttpQuery::get(std::string_view name) const {
    for (const auto& [key, value] : items_) {
        if (key == name) {
            return value;
        }
    }
    return std::nullopt;
}

std::string_view HttpQuery::get_or(std::string_view name, std::string_view otherwise) const {
    return get(name).value_or(otherwise);
}

}  // namespace weir::net
