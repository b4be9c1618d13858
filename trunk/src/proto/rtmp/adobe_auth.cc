// A challenge is 16 hex digits of its time, 16 that are random, and 32 of a HMAC over those, the
// user and the address.
#include "proto/rtmp/adobe_auth.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hmac.h"
#include "base/strings.h"
#include "proto/rtmp/stream_name.h"

namespace weir::rtmp {
namespace {

constexpr size_t kTimeDigits = 16;
constexpr size_t kRandomDigits = 16;
constexpr size_t kMacBytes = 16;
constexpr size_t kFrontDigits = kTimeDigits + kRandomDigits;
constexpr size_t kChallengeDigits = kFrontDigits + 2 * kMacBytes;
// Deviation: what stands behind a response, or behind 8 characters of the client's challenge, may
// be garbage. librtmp as Debian builds it (with nettle) does not end these texts.
constexpr size_t kResponseSize = 24;
constexpr size_t kClientSize = 8;
constexpr size_t kSaltBytes = 6;
constexpr int64_t kClockStepMs = 1'000;  // how far ahead of the clock a challenge may be

std::optional<uint64_t> parse_hex(std::string_view digits) {
    uint64_t value = 0;
    for (char c : digits) {
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) {
            return std::nullopt;
        }
        value = value << 4 | static_cast<uint64_t>(digit);
    }
    return value;
}

std::string md5_base64(std::string_view text) {
    return base64(md5(as_bytes(text)));
}

}  // namespace

AdobeQueryView AdobeQueryView::parse(std::string_view query) {
    return {query_value(query, "authmod"), query_value(query, "user"),
            query_value(query, "challenge"), query_value(query, "response"),
            query_value(query, "opaque")};
}

std::string adobe_need_auth() {
    return "[ AccessManager.Reject ] : [ code=403 need auth; authmod=adobe ] : ";
}

std::string adobe_failed() {
    return "[ AccessManager.Reject ] : [ authmod=adobe ] : ?reason=authfailed&opaque=-";
}

std::string adobe_response(std::string_view user,
                           std::string_view salt,
                           std::string_view password,
                           std::string_view server_challenge,
                           std::string_view client_challenge) {
    const std::string inner = md5_base64(fmt::format("{}{}{}", user, salt, password));
    return md5_base64(fmt::format("{}{}{}", inner, server_challenge, client_challenge));
}

AdobeAuthenticator::AdobeAuthenticator(RandomSource& random) : random_(random), used_(kMaxUsed) {
    random_.fill(secret_);
}

bool AdobeAuthenticator::is_user_name(std::string_view name) {
    return !name.empty() && name.size() <= kMaxUser && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("._-@+").find(c) != std::string_view::npos;
    });
}

std::string AdobeAuthenticator::sign(std::string_view front,
                                     std::string_view user,
                                     std::string_view peer) const {
    const std::string signed_text = fmt::format("challenge\n{}\n{}\n{}", front, peer, user);
    const Sha256Digest mac = hmac_sha256(secret_, as_bytes(signed_text));
    return hex(ByteSpan(mac).first(kMacBytes));
}

std::string AdobeAuthenticator::salt_of(std::string_view challenge) const {
    const Sha256Digest mac = hmac_sha256(secret_, as_bytes(fmt::format("salt\n{}", challenge)));
    return hex(ByteSpan(mac).first(kSaltBytes));
}

std::string AdobeAuthenticator::Challenge::description(std::string_view user) const {
    return fmt::format(
        "[ AccessManager.Reject ] : [ authmod=adobe ] : "
        "?reason=needauth&user={}&salt={}&challenge={}&opaque={}",
        user, salt, text, text);
}

AdobeAuthenticator::Challenge AdobeAuthenticator::challenge(std::string_view user,
                                                            std::string_view peer,
                                                            int64_t now_ms) {
    std::array<uint8_t, kRandomDigits / 2> noise{};
    random_.fill(noise);
    Challenge made;
    made.text = fmt::format("{:016x}{}", static_cast<uint64_t>(now_ms), hex(noise));
    made.text += sign(made.text, user, peer);
    made.salt = salt_of(made.text);
    return made;
}

bool AdobeAuthenticator::was_used(std::string_view challenge) const {
    const auto noise = parse_hex(challenge.substr(kTimeDigits, kRandomDigits));
    return !noise || std::ranges::find(used_, *noise) != used_.end();
}

bool AdobeAuthenticator::is_ours(std::string_view challenge,
                                 std::string_view user,
                                 std::string_view peer,
                                 int64_t now_ms) const {
    if (challenge.size() != kChallengeDigits) {
        return false;
    }
    const std::string mac = sign(challenge.substr(0, kFrontDigits), user, peer);
    if (!equal_in_constant_time(as_bytes(mac), as_bytes(challenge.substr(kFrontDigits)))) {
        return false;
    }
    const auto made_ms = parse_hex(challenge.substr(0, kTimeDigits));
    const int64_t age_ms = now_ms - static_cast<int64_t>(made_ms.value_or(0));
    return age_ms >= -kClockStepMs && age_ms <= kLifetimeMs && !was_used(challenge);
}

AdobeAuthenticator::Verdict AdobeAuthenticator::check(const AdobeQueryView& query,
                                                      std::string_view peer,
                                                      std::span<const std::string> passwords,
                                                      int64_t now_ms) {
    // Clients that know no opaque bring the challenge back in neither; it is asked for again then.
    if (!is_ours(query.opaque, query.user, peer, now_ms)) {
        return Verdict::kStale;
    }
    const std::string salt = salt_of(query.opaque);
    const std::string nobody;
    bool good = false;
    const std::string_view response = query.response.substr(0, kResponseSize);
    for (const std::string& password : passwords.empty() ? std::span(&nobody, 1) : passwords) {
        for (std::string_view theirs : {query.challenge, query.challenge.substr(0, kClientSize)}) {
            const std::string wanted =
                adobe_response(query.user, salt, password, query.opaque, theirs);
            good = equal_in_constant_time(as_bytes(wanted), as_bytes(response)) || good;
        }
    }
    if (!good || passwords.empty()) {
        return Verdict::kWrong;
    }
    used_[used_at_] = parse_hex(query.opaque.substr(kTimeDigits, kRandomDigits)).value_or(0);
    used_at_ = (used_at_ + 1) % kMaxUsed;
    return Verdict::kGood;
}

}  // namespace weir::rtmp
