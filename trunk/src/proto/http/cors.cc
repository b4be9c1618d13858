#include "proto/http/cors.h"

#include <algorithm>
#include <array>

namespace weir::http {

namespace {

constexpr std::string_view kPreflightSeconds = "86400";
constexpr size_t kMaxEchoedHeaders = 1024;

// Field names, commas and blanks: what Access-Control-Request-Headers is made of.
bool is_header_list(std::string_view text) {
    return text.size() <= kMaxEchoedHeaders && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || c == ',' || c == ' ';
           });
}

}  // namespace

bool is_cors_preflight(const Request& request) {
    return request.method == Method::kOptions && request.headers.has("Origin") &&
           request.headers.has("Access-Control-Request-Method");
}

Fields cors_fields() {
    return {{"Access-Control-Allow-Origin", "*"},
            {"Access-Control-Expose-Headers",
             "Content-Length, Content-Range, Accept-Ranges, ETag, Date, Location, Link, "
             "Accept-Post, Accept-Patch"}};
}

Fields cors_preflight_fields(const Request& request, uint32_t methods) {
    Fields fields{{"Access-Control-Allow-Origin", "*"},
                  {"Access-Control-Allow-Methods", allow_text(methods)},
                  {"Access-Control-Max-Age", std::string(kPreflightSeconds)}};
    // The asked-for names are echoed: "*" would not cover Authorization (Fetch §3.2.6).
    std::string_view asked = request.headers.get("Access-Control-Request-Headers").value_or("");
    fields.add("Access-Control-Allow-Headers",
               !asked.empty() && is_header_list(asked) ? std::string(asked) : "Range");
    if (request.headers.has_token("Access-Control-Request-Private-Network", "true")) {
        fields.add("Access-Control-Allow-Private-Network", "true");
    }
    fields.add("Vary", "Access-Control-Request-Headers, Access-Control-Request-Private-Network");
    return fields;
}

std::string allow_text(uint32_t methods) {
    constexpr std::array kOrder = {Method::kGet,   Method::kHead,   Method::kPost,   Method::kPut,
                                   Method::kPatch, Method::kDelete, Method::kOptions};
    std::string text;
    for (Method method : kOrder) {
        if ((methods & method_bit(method)) != 0) {
            text.append(text.empty() ? "" : ", ").append(to_string(method));
        }
    }
    return text;
}

}  // namespace weir::http
