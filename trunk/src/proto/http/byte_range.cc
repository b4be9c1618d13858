#include "proto/http/byte_range.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "proto/http/fields.h"

namespace weir::http {

namespace {

// Decimal digits only; a number beyond 64 bits counts as the largest one.
std::optional<uint64_t> parse_position(std::string_view text) {
    if (text.empty() ||
        !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
        return std::nullopt;
    }
    uint64_t value = 0;
    auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    return result.ec == std::errc() ? value : UINT64_MAX;
}

}  // namespace

RangeStatus parse_byte_range(std::string_view text, uint64_t size, ByteRange& out) {
    size_t equals = text.find('=');
    if (equals == std::string_view::npos ||
        !equal_ignoring_case(trimmed(text.substr(0, equals)), "bytes")) {
        return RangeStatus::kWhole;
    }
    std::string_view range = trimmed(text.substr(equals + 1));
    size_t dash = range.find('-');
    if (dash == std::string_view::npos) {
        return RangeStatus::kWhole;
    }
    std::string_view first_text = trimmed(range.substr(0, dash));
    std::string_view last_text = trimmed(range.substr(dash + 1));
    auto first = parse_position(first_text);
    auto last = parse_position(last_text);
    if ((!first && !first_text.empty()) || (!last && !last_text.empty()) || (!first && !last) ||
        (first && last && *first > *last)) {
        return RangeStatus::kWhole;
    }
    if (!first) {  // the last so many bytes
        if (*last == 0 || size == 0) {
            return RangeStatus::kUnsatisfiable;
        }
        uint64_t length = std::min(*last, size);
        out = {size - length, length};
        return RangeStatus::kPart;
    }
    if (*first >= size) {
        return RangeStatus::kUnsatisfiable;
    }
    uint64_t end = std::min(last.value_or(UINT64_MAX), size - 1);
    out = {*first, end - *first + 1};
    return RangeStatus::kPart;
}

}  // namespace weir::http
