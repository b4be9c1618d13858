#include "proto/sdp/sdes.h"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/hmac.h"
#include "base/strings.h"
#include "proto/sdp/attributes.h"

namespace weir::sdp {
namespace {

struct Suite {
    std::string_view name;
    size_t bytes;
};

constexpr std::array<Suite, 6> kSuites = {{
    {"AES_CM_128_HMAC_SHA1_80", 30},
    {"AES_CM_128_HMAC_SHA1_32", 30},
    {"AES_256_CM_HMAC_SHA1_80", 46},
    {"AES_256_CM_HMAC_SHA1_32", 46},
    {"AEAD_AES_128_GCM", 28},
    {"AEAD_AES_256_GCM", 44},
}};

constexpr size_t kMaxCryptoWords = 16;
constexpr std::string_view kInline = "inline:";
constexpr uint64_t kMaxTag = 999'999'999;  // RFC 4568 §9.1: nine digits

}  // namespace

size_t srtp_key_bytes(std::string_view suite) {
    for (const Suite& each : kSuites) {
        if (each.name == suite) {
            return each.bytes;
        }
    }
    return 0;
}

std::optional<CryptoLine> parse_crypto(std::string_view value) {
    std::vector<std::string_view> words = split(value, ' ', kMaxCryptoWords);
    std::erase(words, std::string_view());
    if (words.size() < 3 || !is_token(words[1])) {
        return std::nullopt;
    }
    const std::optional<uint64_t> tag = parse_uint(words[0], 0, kMaxTag);
    const std::string_view keys = split_once(words[2], ';').before;
    if (!tag || !keys.starts_with(kInline)) {
        return std::nullopt;
    }
    // Key and salt, then a lifetime, then MKI and its length: the two of which has ':'.
    const std::vector<std::string_view> parts = split(keys.substr(kInline.size()), '|', 3);
    const std::optional<Bytes> key = parse_base64(parts[0]);
    const size_t expected = srtp_key_bytes(words[1]);
    if (!key || key->empty() || key->size() > kMaxSrtpKeyBytes ||
        (expected != 0 && key->size() != expected)) {
        return std::nullopt;
    }
    for (size_t i = 3; i < words.size(); i++) {
        if (words[i].starts_with("UNENCRYPTED_") || words[i].starts_with("UNAUTHENTICATED_")) {
            return std::nullopt;
        }
    }
    CryptoLine line{static_cast<uint32_t>(*tag), std::string(words[1]), *key, false};
    for (size_t i = 1; i < parts.size(); i++) {
        line.has_mki = line.has_mki || parts[i].find(':') != std::string_view::npos;
    }
    return line;
}

std::string write_crypto(const CryptoLine& line) {
    return fmt::format("{} {} inline:{}", line.tag, line.suite, base64(line.key_and_salt));
}

}  // namespace weir::sdp
