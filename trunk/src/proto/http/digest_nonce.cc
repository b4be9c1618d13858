#include "proto/http/digest_nonce.h"

#include <charconv>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/hmac.h"
#include "base/strings.h"

namespace weir::http {
namespace {

constexpr size_t kTimeDigits = 16;
constexpr size_t kMacBytes = 16;
static_assert(kNonceText == kTimeDigits + 2 * kMacBytes);

}  // namespace

std::string make_nonce(const NonceKey& key, std::string_view scope, std::chrono::seconds now) {
    const std::string time = fmt::format("{:016x}", static_cast<uint64_t>(now.count()));
    const Sha256Digest mac = hmac_sha256(key, as_bytes(time), as_bytes(scope));
    return time + hex(std::span(mac).first(kMacBytes));
}

NonceState check_nonce(std::string_view nonce,
                       const NonceKey& key,
                       std::string_view scope,
                       std::chrono::seconds now,
                       std::chrono::seconds lifetime) {
    uint64_t value = 0;
    const std::string_view digits = nonce.substr(0, kTimeDigits);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (nonce.size() != kNonceText || error != std::errc() ||
        end != digits.data() + digits.size()) {
        return NonceState::kForeign;
    }
    const std::chrono::seconds made(static_cast<int64_t>(value));
    if (!equal_in_constant_time(as_bytes(make_nonce(key, scope, made)), as_bytes(nonce))) {
        return NonceState::kForeign;
    }
    // One from the future is ours from before the clock was set.
    return made <= now && now - made <= lifetime ? NonceState::kFresh : NonceState::kStale;
}

}  // namespace weir::http
