#include "proto/http/target.h"

#include <algorithm>
#include <vector>

namespace weir::http {

namespace {

int hex_value(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

bool has_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(), is_control);
}

bool is_unreserved(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

bool parse_query(std::string_view text, Query& out) {
    while (!text.empty()) {
        size_t end = std::min(text.find('&'), text.size());
        std::string_view item = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (item.empty()) {
            continue;
        }
        size_t equals = item.find('=');
        auto name = percent_decoded(item.substr(0, equals));
        auto value = percent_decoded(equals == std::string_view::npos ? std::string_view()
                                                                      : item.substr(equals + 1));
        if (!name || !value || has_control(*name) || has_control(*value) ||
            out.size() == kMaxQueryParameters) {
            return false;
        }
        out.add(std::move(*name), std::move(*value));
    }
    return true;
}

// Takes "http://host:port" from the front of an absolute target. False when it is no http target.
bool take_authority(std::string_view& target, std::string& authority) {
    size_t scheme_end = target.find("://");
    std::string_view scheme = target.substr(0, std::min(scheme_end, target.size()));
    if (scheme_end == std::string_view::npos ||
        (!equal_ignoring_case(scheme, "http") && !equal_ignoring_case(scheme, "https") &&
         !equal_ignoring_case(scheme, "ws") && !equal_ignoring_case(scheme, "wss"))) {
        return false;
    }
    target.remove_prefix(scheme_end + 3);
    size_t end = std::min(target.find_first_of("/?"), target.size());
    authority = target.substr(0, end);
    target.remove_prefix(end);
    return !authority.empty() && authority.find('@') == std::string::npos;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] != '%') {
            out.push_back(text[i]);
            continue;
        }
        int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
        int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        out.push_back(static_cast<char>(high * 16 + low));
        i += 2;
    }
    return out;
}

std::string percent_encoded(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string out;
    out.reserve(text.size());
    for (char c : text) {
        if (is_unreserved(c) || c == '/') {
            out.push_back(c);
        } else {
            auto byte = static_cast<unsigned char>(c);
            out += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
        }
    }
    return out;
}

std::optional<std::string> normalised_path(std::string_view path) {
    if (!path.starts_with('/')) {
        return std::nullopt;
    }
    std::vector<std::string_view> kept;
    bool folder = false;  // the path ends in "/", "/." or "/.."
    for (std::string_view rest = path; !rest.empty();) {
        rest.remove_prefix(1);
        size_t end = std::min(rest.find('/'), rest.size());
        std::string_view segment = rest.substr(0, end);
        rest.remove_prefix(end);
        folder = segment.empty() || segment == "." || segment == "..";
        if (segment == "..") {
            if (kept.empty()) {
                return std::nullopt;
            }
            kept.pop_back();
        } else if (!folder) {
            kept.push_back(segment);
        }
    }
    std::string out;
    for (std::string_view segment : kept) {
        out.append("/").append(segment);
    }
    if (folder || out.empty()) {
        out.push_back('/');
    }
    return out;
}

std::optional<Target> parse_target(std::string_view target) {
    Target out;
    if (target == "*") {
        out.path = "*";
        return out;
    }
    if (target.find('#') != std::string_view::npos) {
        return std::nullopt;  // a fragment is never sent (RFC 9112 §3.2)
    }
    if (!target.starts_with('/') && !take_authority(target, out.authority)) {
        return std::nullopt;
    }
    size_t question = std::min(target.find('?'), target.size());
    auto decoded = percent_decoded(target.substr(0, question));
    if (!decoded || has_control(*decoded)) {
        return std::nullopt;
    }
    auto path = normalised_path(decoded->empty() ? "/" : std::string_view(*decoded));
    if (!path) {
        return std::nullopt;
    }
    out.path = std::move(*path);
    out.query_text = target.substr(std::min(question + 1, target.size()));
    if (!parse_query(out.query_text, out.query)) {
        return std::nullopt;
    }
    return out;
}

}  // namespace weir::http
