#include "proto/dtls/fingerprint.h"

namespace weir::dtls {

namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";
constexpr size_t kBytes = 32;
constexpr size_t kTextSize = kBytes * 3 - 1;

int digit_of(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char upper = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
    return upper >= 'A' && upper <= 'F' ? upper - 'A' + 10 : -1;
}

}  // namespace

std::optional<Fingerprint> Fingerprint::parse(std::string_view text) {
    if (text.size() != kTextSize) {
        return std::nullopt;
    }
    Fingerprint out;
    for (size_t i = 0; i < kBytes; i++) {
        const int high = digit_of(text[i * 3]);
        const int low = digit_of(text[i * 3 + 1]);
        if (high < 0 || low < 0 || (i + 1 < kBytes && text[i * 3 + 2] != ':')) {
            return std::nullopt;
        }
        out.sha256[i] = static_cast<uint8_t>(high << 4 | low);
    }
    return out;
}

std::string Fingerprint::to_string() const {
    std::string text(kTextSize, ':');
    for (size_t i = 0; i < kBytes; i++) {
        text[i * 3] = kDigits[sha256[i] >> 4];
        text[i * 3 + 1] = kDigits[sha256[i] & 15];
    }
    return text;
}

}  // namespace weir::dtls
