#include "base/strings.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace weir {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// 0..15, or -1.
int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string hex(std::span<const uint8_t> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    out.reserve(2 * bytes.size());
    for (const uint8_t byte : bytes) {
        out += kDigits[byte >> 4U];
        out += kDigits[byte & 0xfU];
    }
    return out;
}

std::string_view trim(std::string_view text) {
    size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator, size_t limit) {
    std::vector<std::string_view> parts;
    while (parts.size() + 1 < limit) {
        size_t at = text.find(separator);
        if (at == std::string_view::npos) {
            break;
        }
        parts.push_back(text.substr(0, at));
        text.remove_prefix(at + 1);
    }
    parts.push_back(text);
    return parts;
}

Halves split_once(std::string_view text, char separator) {
    size_t at = text.find(separator);
    if (at == std::string_view::npos) {
        return {text, {}, false};
    }
    return {text.substr(0, at), text.substr(at + 1), true};
}

std::string to_lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), lower);
    return out;
}

bool equals_ignore_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<uint64_t> parse_uint(std::string_view text, uint64_t min, uint64_t max) {
    uint64_t value = 0;
    // from_chars of an unsigned type takes no sign and no space.
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) {
        return std::nullopt;
    }
    return value;
}

size_t edit_distance(std::string_view a, std::string_view b) {
    if (a.size() > kMaxEditDistanceText || b.size() > kMaxEditDistanceText) {
        return a == b ? 0 : std::max(a.size(), b.size());
    }
    // Three rows of the usual table; the one before the last is needed for swaps.
    using Row = std::array<size_t, kMaxEditDistanceText + 1>;
    Row before_last{};
    Row last{};
    Row row{};
    for (size_t j = 0; j <= b.size(); j++) {
        last[j] = j;
    }
    for (size_t i = 1; i <= a.size(); i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); j++) {
            size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before_last[j - 2] + 1);
            }
        }
        before_last = last;
        last = row;
    }
    return last[b.size()];
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
    std::string wanted = to_lower(name);
    size_t allowed = std::max<size_t>(1, name.size() / 3);
    std::string_view best;
    for (std::string_view candidate : candidates) {
        size_t distance = edit_distance(wanted, to_lower(candidate));
        // A name of one or two letters is near to any other: nothing of it would be left.
        if (distance <= allowed && distance < wanted.size()) {
            best = candidate;
            if (distance == 0) {
                break;
            }
            allowed = distance - 1;
        }
    }
    return best;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
        text.replace(at, what.size(), by);
        at += by.size();
    }
    return text;
}

std::string url_decode(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size(); i++) {
        const char c = text[i];
        if (c == '%' && i + 2 < text.size()) {
            int high = hex_digit(text[i + 1]);
            int low = hex_digit(text[i + 2]);
            if (high >= 0 && low >= 0) {
                out.push_back(static_cast<char>(high * 16 + low));
                i += 2;
                continue;
            }
        }
        out.push_back(c);
    }
    return out;
}

std::vector<QueryItem> parse_query(std::string_view query) {
    std::vector<QueryItem> items;
    if (query.starts_with('?')) {
        query.remove_prefix(1);
    }
    while (!query.empty() && items.size() < kMaxQueryItems) {
        Halves item = split_once(query, '&');
        query = item.after;
        if (item.before.empty()) {
            continue;
        }
        Halves pair = split_once(item.before, '=');
        items.push_back({url_decode(pair.before), url_decode(pair.after)});
    }
    return items;
}

std::optional<std::string_view> query_value(const std::vector<QueryItem>& items,
                                            std::string_view key) {
    for (const QueryItem& item : items) {
        if (item.key == key) {
            return item.value;
        }
    }
    return std::nullopt;
}

}  // namespace weir
