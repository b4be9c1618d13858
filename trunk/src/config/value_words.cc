#include "config/value_words.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::config {
namespace {

constexpr std::string_view kFile = "file:";
constexpr size_t kMaxHostName = 255;
constexpr size_t kMaxPortDigits = 5;

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool consists_of(std::string_view text, std::string_view others) {
    return !text.empty() && std::ranges::all_of(text, [others](char c) {
        return is_alphanumeric(c) || others.find(c) != std::string_view::npos;
    });
}

// "30min" -> "30" and "min".
Halves number_and_unit(std::string_view text) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    return {text.substr(0, digits), text.substr(digits), digits < text.size()};
}

}  // namespace

std::optional<SecretSource> parse_secret(std::string_view text,
                                         std::string_view folder,
                                         size_t least) {
    if (text.starts_with(kFile)) {
        const std::string_view path = text.substr(kFile.size());
        if (path.empty()) {
            return std::nullopt;
        }
        return SecretSource{true, resolve_path(path, folder)};
    }
    if (text.size() < std::max<size_t>(least, 1) || !is_secret_text(text)) {
        return std::nullopt;
    }
    return SecretSource{false, std::string(text)};
}

bool is_secret_text(std::string_view text) {
    return text.size() <= kMaxSecret && std::ranges::all_of(text, [](char c) {
               const auto byte = static_cast<unsigned char>(c);
               return byte >= 0x20 && byte != 0x7F;
           });
}

bool is_login_name(std::string_view text) {
    return text.size() <= kMaxLoginName && consists_of(text, "._-@+");
}

bool is_host_name(std::string_view text) {
    return text.size() <= kMaxHostName && consists_of(text, ".-_");
}

bool is_server_name(std::string_view text) {
    const Halves parts = split_once(text, ':');
    return is_host_name(parts.before) && (!parts.found || (parts.after.size() <= kMaxPortDigits &&
                                                           parse_uint(parts.after, 1, UINT16_MAX)));
}

bool is_account_name(std::string_view text) {
    constexpr size_t kMaxAccountName = 256;
    return !text.empty() && text.size() <= kMaxAccountName && text.front() != '-' &&
           std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.' || c == '$' || c == '@';
           });
}

bool is_origin_pattern(std::string_view text) {
    if (text == "*") {
        return true;
    }
    const size_t end = text.find("://");
    if (end == std::string_view::npos || !consists_of(text.substr(0, end), "+-.")) {
        return false;
    }
    std::string_view host = text.substr(end + 3);
    const size_t colon = host.rfind(':');
    if (colon != std::string_view::npos && !host.ends_with(']')) {
        const std::string_view port = host.substr(colon + 1);
        if (port.size() > kMaxPortDigits || !parse_uint(port, 1, UINT16_MAX)) {
            return false;
        }
        host = host.substr(0, colon);
    }
    if (host.starts_with('[') && host.ends_with(']')) {
        return consists_of(host.substr(1, host.size() - 2), ":");
    }
    return is_host_name(host);
}

bool is_frame_source(std::string_view text) {
    if (text == "self" || text == "none") {
        return true;
    }
    constexpr std::string_view kAnyBelow = "://*.";
    const size_t at = text.find(kAnyBelow);
    if (at == std::string_view::npos) {
        return is_origin_pattern(text);
    }
    return is_origin_pattern(
        fmt::format("{}://{}", text.substr(0, at), text.substr(at + kAnyBelow.size())));
}

std::optional<KeepWord> parse_keep_word(std::string_view text) {
    struct Unit {
        std::string_view name;
        KeepWord one;
    };

    constexpr uint64_t kMinuteMs = 60'000;
    constexpr uint64_t kMegabyte = 1024 * 1024;
    constexpr uint64_t kMost = 1'000'000;
    constexpr Unit kUnits[] = {{"min", {kMinuteMs, 0}},         {"h", {60 * kMinuteMs, 0}},
                               {"d", {24 * 60 * kMinuteMs, 0}}, {"mb", {0, kMegabyte}},
                               {"g", {0, 1024 * kMegabyte}},    {"gb", {0, 1024 * kMegabyte}}};
    const Halves halves = number_and_unit(text);
    for (const Unit& unit : kUnits) {
        if (!equals_ignore_case(halves.after, unit.name)) {
            continue;
        }
        const auto number = parse_uint(halves.before, 1, kMost);
        return number ? std::optional(KeepWord{*number * unit.one.ms, *number * unit.one.bytes})
                      : std::nullopt;
    }
    return std::nullopt;
}

bool is_ambiguous_keep(std::string_view text) {
    const Halves halves = number_and_unit(text);
    return !halves.before.empty() && equals_ignore_case(halves.after, "m");
}

std::string resolve_path(std::string_view path, std::string_view folder) {
    std::filesystem::path resolved(path);
    if (resolved.is_relative()) {
        resolved = std::filesystem::path(folder) / resolved;
    }
    return resolved.lexically_normal().string();
}

}  // namespace weir::config
