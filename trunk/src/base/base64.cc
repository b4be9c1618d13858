#include "base/base64.h"

#include <array>
#include <cstdint>
#include <utility>

namespace weir {
namespace {

constexpr std::string_view kUrlAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// 0 to 63; -1 for what is not of the alphabet that ends in these two characters.
int digit_of(char c, char plus, char slash) {
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == plus ? 62 : c == slash ? 63 : -1;
}

// Without padding.
std::optional<Bytes> parse(std::string_view text, char plus, char slash) {
    if (text.size() % 4 == 1) {
        return std::nullopt;
    }
    Bytes out;
    out.reserve(text.size() / 4 * 3 + 2);
    uint32_t bits = 0;
    unsigned count = 0;
    for (char c : text) {
        const int digit = digit_of(c, plus, slash);
        if (digit < 0) {
            return std::nullopt;
        }
        bits = bits << 6 | static_cast<uint32_t>(digit);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out.push_back(static_cast<uint8_t>(bits >> count));
            bits &= (1U << count) - 1;
        }
    }
    return bits == 0 ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

std::optional<Bytes> parse_base64(std::string_view text) {
    if (text.size() % 4 != 0) {
        return std::nullopt;
    }
    for (int padding = 0; padding < 2 && text.ends_with('='); padding++) {
        text.remove_suffix(1);
    }
    return parse(text, '+', '/');
}

std::optional<Bytes> parse_base64url(std::string_view text) {
    return parse(text, '-', '_');
}

std::string base64url(ByteSpan data) {
    std::string out;
    out.reserve((data.size() * 4 + 2) / 3);
    uint32_t bits = 0;
    unsigned count = 0;
    for (uint8_t byte : data) {
        bits = bits << 8 | byte;
        count += 8;
        while (count >= 6) {
            count -= 6;
            out += kUrlAlphabet[bits >> count & 63];
        }
    }
    if (count > 0) {
        out += kUrlAlphabet[bits << (6 - count) & 63];
    }
    return out;
}

}  // namespace weir
