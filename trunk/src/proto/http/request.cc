#include "proto/http/request.h"

#include <array>

namespace weir::http {

namespace {

struct MethodName {
    Method method;
    std::string_view name;
};

constexpr std::array<MethodName, 7> kMethods = {{
    {Method::kGet, "GET"},
    {Method::kHead, "HEAD"},
    {Method::kPost, "POST"},
    {Method::kPut, "PUT"},
    {Method::kPatch, "PATCH"},
    {Method::kDelete, "DELETE"},
    {Method::kOptions, "OPTIONS"},
}};

}  // namespace

std::string_view to_string(Method method) {
    return kMethods[static_cast<size_t>(method)].name;
}

std::optional<Method> parse_method(std::string_view text) {
    for (const MethodName& known : kMethods) {
        if (known.name == text) {
            return known.method;
        }
    }
    return std::nullopt;
}

std::optional<std::string_view> Query::get(std::string_view name) const {
    for (const auto& [key, value] : items_) {
        if (key == name) {
            return value;
        }
    }
    return std::nullopt;
}

std::string_view Query::get_or(std::string_view name, std::string_view otherwise) const {
    return get(name).value_or(otherwise);
}

}  // namespace weir::http
