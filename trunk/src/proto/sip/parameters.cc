#include "proto/sip/parameters.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "proto/http/fields.h"
#include "proto/http/text.h"

namespace weir::sip {
namespace {

bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

int hex_value(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// token, host or port: what stands in a header without quotes.
bool is_plain(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return http::is_token_character(c) || c == '[' || c == ']' || c == ':';
    });
}

// "name=" or "name", up to what comes next; false: no name.
bool take_name(std::string_view& text, Parameter& out) {
    text = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
    const size_t end = std::min(text.find_first_of("=; \t\""), text.size());
    out.name = text.substr(0, end);
    text.remove_prefix(end);
    text = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
    out.has_value = text.starts_with('=');
    text.remove_prefix(out.has_value ? 1 : 0);
    return http::is_token(out.name);
}

// Behind '='. False: a quote that nothing closes, or text behind the value.
bool take_header_value(std::string_view& text, std::string& out) {
    text = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
    if (!text.starts_with('"')) {
        const size_t end = std::min(text.find(';'), text.size());
        out = http::trimmed(text.substr(0, end));
        text.remove_prefix(end);
        return out.find_first_of(" \t\"<>,") == std::string::npos;
    }
    size_t at = 1;
    while (at < text.size() && text[at] != '"') {
        at += text[at] == '\\' && at + 1 < text.size() ? 1U : 0U;
        out += text[at++];
    }
    if (at >= text.size()) {
        return false;
    }
    text = http::trimmed(text.substr(at + 1));
    return text.empty() || text.starts_with(';');
}

void append_quoted(std::string& out, std::string_view value) {
    out += '"';
    for (const char c : value) {
        out += c == '"' || c == '\\' ? "\\" : "";
        out += c;
    }
    out += '"';
}

}  // namespace

std::string escape(std::string_view text, std::string_view also) {
    constexpr std::string_view kMarks = "-_.!~*'()";
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        if (is_alphanumeric(c) || kMarks.find(c) != std::string_view::npos ||
            also.find(c) != std::string_view::npos) {
            out += c;
        } else {
            out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        }
    }
    return out;
}

std::optional<std::string> unescape(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return out;
}

std::optional<Parameters> Parameters::parse_of_uri(std::string_view text) {
    Parameters out;
    while (!text.empty()) {
        if (text.front() != ';' || out.all_.size() == kMaxParameters) {
            return std::nullopt;
        }
        text.remove_prefix(1);
        const std::string_view item = text.substr(0, text.find(';'));
        text.remove_prefix(item.size());
        const Halves halves = split_once(item, '=');
        const std::optional<std::string> name = unescape(halves.before);
        std::optional<std::string> value = unescape(halves.after);
        if (!name || name->empty() || !value || out.has(*name)) {  // RFC 3261 §19.1.1: once
            return std::nullopt;
        }
        out.all_.push_back({*name, std::move(*value), halves.found});
    }
    return out;
}

std::optional<Parameters> Parameters::parse_of_header(std::string_view text) {
    Parameters out;
    text = http::trimmed(text);
    while (!text.empty()) {
        if (text.front() != ';' || out.all_.size() == kMaxParameters) {
            return std::nullopt;
        }
        text.remove_prefix(1);
        Parameter next;
        if (!take_name(text, next) || (next.has_value && !take_header_value(text, next.value)) ||
            !(text.empty() || text.front() == ';')) {
            return std::nullopt;
        }
        out.all_.push_back(std::move(next));
    }
    return out;
}

std::string Parameters::write_for_uri() const {
    constexpr std::string_view kPlain = "[]/:&+$";  // RFC 3261 §25.1 param-unreserved
    std::string out;
    for (const Parameter& each : all_) {
        out += ';';
        out += escape(each.name, kPlain);
        if (each.has_value) {
            out += '=';
            out += escape(each.value, kPlain);
        }
    }
    return out;
}

std::string Parameters::write_for_header() const {
    std::string out;
    for (const Parameter& each : all_) {
        if (!http::is_token(each.name)) {
            continue;
        }
        out += ';';
        out += each.name;
        if (each.has_value) {
            out += '=';
            if (is_plain(each.value)) {
                out += each.value;
            } else {
                append_quoted(out, each.value);
            }
        }
    }
    return out;
}

std::optional<std::string_view> Parameters::get(std::string_view name) const {
    for (const Parameter& each : all_) {
        if (equals_ignore_case(each.name, name)) {
            return each.value;
        }
    }
    return std::nullopt;
}

std::optional<uint64_t> Parameters::number(std::string_view name, uint64_t max) const {
    const std::optional<std::string_view> text = get(name);
    return text ? parse_uint(*text, 0, max) : std::nullopt;
}

Parameter& Parameters::slot(std::string_view name) {
    const auto found = std::ranges::find_if(
        all_, [&](const Parameter& each) { return equals_ignore_case(each.name, name); });
    if (found != all_.end()) {
        return *found;
    }
    return all_.emplace_back(Parameter{std::string(name), {}, false});
}

void Parameters::set(std::string_view name, std::string value) {
    Parameter& parameter = slot(name);
    parameter.value = std::move(value);
    parameter.has_value = true;
}

void Parameters::set_flag(std::string_view name) {
    Parameter& parameter = slot(name);
    parameter.value.clear();
    parameter.has_value = false;
}

void Parameters::remove(std::string_view name) {
    std::erase_if(all_, [&](const Parameter& each) { return equals_ignore_case(each.name, name); });
}

}  // namespace weir::sip
