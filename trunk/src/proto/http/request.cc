#include "proto/http/request.h"

#include <array>

#include <fmt/format.h>

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

std::string request_text(const Request& request) {
    std::string text = fmt::format("{} {} HTTP/1.{}\r\n", to_string(request.method), request.target,
                                   request.version_minor);
    for (const Field& field : request.headers) {
        const bool of_body = equal_ignoring_case(field.name, "Content-Length") ||
                             equal_ignoring_case(field.name, "Transfer-Encoding") ||
                             equal_ignoring_case(field.name, "Expect");
        if (!of_body) {
            text += fmt::format("{}: {}\r\n", field.name, field.value);
        }
    }
    if (!request.body.empty()) {
        text += fmt::format("Content-Length: {}\r\n", request.body.size());
    }
    return text + "\r\n" + request.body;
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
