#include "proto/sip/name_addr.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::sip {
namespace {

bool is_control(char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7F';
}

// Text after the closing quote of `text`, which begins with a quote; `content` is decoded, without
// control characters, which nobody shows. False: it is not closed.
bool take_quoted(std::string_view& text, std::string& content) {
    size_t at = 1;
    while (at < text.size() && text[at] != '"') {
        at += text[at] == '\\' && at + 1 < text.size() ? 1U : 0U;
        if (!is_control(text[at])) {
            content += text[at];
        }
        at++;
    }
    if (at >= text.size()) {
        return false;
    }
    text.remove_prefix(at + 1);
    return true;
}

// "sip:..." of any scheme (RFC 3986 §3.1), without what would end it in a header.
bool is_uri(std::string_view text) {
    const size_t colon = text.find(':');
    const auto in_scheme = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               c == '+' || c == '-' || c == '.';
    };
    return colon != std::string_view::npos && colon > 0 && colon + 1 < text.size() &&
           text.size() <= kMaxUriBytes && std::ranges::all_of(text.substr(0, colon), in_scheme) &&
           std::ranges::none_of(text, [](char c) {
               return is_control(c) || c == ' ' || c == '<' || c == '>' || c == '"';
           });
}

// Tokens and blanks (RFC 3261 §25.1 display-name); UTF-8 without quotes is common.
bool is_display(std::string_view text) {
    return std::ranges::all_of(text, [](char c) {
        return http::is_token_character(c) || c == ' ' || c == '\t' ||
               static_cast<unsigned char>(c) >= 0x80;
    });
}

}  // namespace

std::optional<NameAddr> NameAddr::parse(std::string_view text) {
    NameAddr out;
    text = http::trimmed(text);
    const bool quoted = text.starts_with('"');
    if (quoted && !take_quoted(text, out.display)) {
        return std::nullopt;
    }
    const size_t open = text.find('<');
    std::string_view rest;
    if (open != std::string_view::npos && (quoted || is_display(text.substr(0, open)))) {
        const std::string_view before = http::trimmed(text.substr(0, open));
        const size_t close = text.find('>', open);
        if ((quoted && !before.empty()) || close == std::string_view::npos) {
            return std::nullopt;
        }
        out.display += before;
        out.uri = text.substr(open + 1, close - open - 1);
        rest = text.substr(close + 1);
    } else {
        const size_t end = std::min(text.find(';'), text.size());
        out.uri = http::trimmed(text.substr(0, end));
        rest = text.substr(end);
        // §20: a URI with a comma or a question mark must be in <>.
        if (quoted || out.uri.find_first_of("?,") != std::string::npos) {
            return std::nullopt;
        }
    }
    std::optional<Parameters> parameters = Parameters::parse_of_header(rest);
    if (!is_uri(out.uri) || !parameters) {
        return std::nullopt;
    }
    out.parameters = std::move(*parameters);
    return out;
}

std::optional<std::vector<NameAddr>> NameAddr::parse_all(const http::Fields& fields,
                                                         std::string_view name) {
    std::vector<NameAddr> out;
    for (const http::Field& field : fields) {
        if (!http::equal_ignoring_case(field.name, name)) {
            continue;
        }
        const std::optional<std::vector<std::string_view>> items = split_list(field.value);
        if (!items) {
            return std::nullopt;
        }
        for (const std::string_view item : *items) {
            std::optional<NameAddr> address = parse(item);
            if (!address || out.size() == kMaxListItems) {
                return std::nullopt;
            }
            out.push_back(std::move(*address));
        }
    }
    return out;
}

std::string NameAddr::write() const {
    std::string out;
    if (!display.empty()) {
        out += '"';
        for (const char c : display) {
            if (is_control(c)) {
                continue;
            }
            out += c == '"' || c == '\\' ? "\\" : "";
            out += c;
        }
        out += "\" ";
    }
    out += '<';
    std::ranges::copy_if(uri, std::back_inserter(out),
                         [](char c) { return !is_control(c) && c != ' ' && c != '<' && c != '>'; });
    out += '>';
    return out + parameters.write_for_header();
}

std::optional<std::vector<std::string_view>> split_list(std::string_view text) {
    std::vector<std::string_view> out;
    bool quoted = false;
    bool in_uri = false;
    size_t start = 0;
    for (size_t at = 0; at <= text.size(); at++) {
        const char c = at < text.size() ? text[at] : ',';
        if (at == text.size() && (quoted || in_uri)) {
            return std::nullopt;
        }
        if (quoted) {
            at += c == '\\' ? 1U : 0U;
            quoted = c != '"';
        } else if (c == '"' && !in_uri) {
            quoted = true;
        } else if (c == '<' || c == '>') {
            in_uri = c == '<';
        } else if (c == ',' && !in_uri) {
            const std::string_view item = http::trimmed(text.substr(start, at - start));
            start = at + 1;
            if (!item.empty() && out.size() == kMaxListItems) {
                return std::nullopt;
            }
            if (!item.empty()) {
                out.push_back(item);
            }
        }
    }
    // A backslash at the very end leaves its quote open.
    return quoted ? std::nullopt : std::optional(std::move(out));
}

}  // namespace weir::sip
