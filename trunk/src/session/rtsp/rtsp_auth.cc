#include "session/rtsp/rtsp_auth.h"

#include <chrono>
#include <functional>

#include "base/random.h"
#include "io/socket_address.h"
#include "proto/http/digest_auth.h"
#include "proto/rtsp/url.h"

namespace weir::session {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr size_t kMaxToken = 4096;

std::chrono::seconds seconds_now() {
    return std::chrono::duration_cast<std::chrono::seconds>(MonoClock::now().time_since_epoch());
}

}  // namespace

RtspAuth::RtspAuth() {
    system_random().fill(nonces_);
}

RtspAuth::Answer RtspAuth::check(const Question& question, const net::Policy& policy) const {
    Answer answer;
    const auto field = question.request.headers.get("Authorization");
    if (!field) {
        return answer;
    }
    if (http::equal_ignoring_case(field->substr(0, kBearer.size()), kBearer)) {
        const std::string_view token = http::trimmed(field->substr(kBearer.size()));
        answer.shown = true;
        answer.login.token = token.substr(0, kMaxToken);
        return answer;
    }
    const auto shown = http::parse_credentials(*field);
    if (!shown) {
        return answer;
    }
    const bool digest = shown->scheme == http::AuthScheme::kDigest;
    if (digest) {
        const http::NonceState nonce = http::check_nonce(
            shown->nonce, nonces_, question.peer.host(), seconds_now(), kNonceLifetime);
        answer.stale = nonce == http::NonceState::kStale;
        if (nonce != http::NonceState::kFresh ||
            !rtsp::is_uri_for(shown->uri, question.request.url)) {
            return answer;
        }
    } else if (!question.encrypted) {
        return answer;
    }
    answer.shown = true;
    const std::string_view method = question.request.method_name;
    const std::function<bool(std::string_view)> proves = [&](std::string_view password) {
        return http::verify(*shown, kRealm, password, method);
    };
    const std::string_view password = digest ? std::string_view() : shown->password;
    net::PasswordAnswer known = policy.check_password({.key = question.key,
                                                       .publishes = question.publishes,
                                                       .user = shown->user,
                                                       .password = password,
                                                       .proves = proves,
                                                       .peer = question.peer});
    answer.login = {std::move(known.user), std::move(known.scope), std::move(known.token)};
    return answer;
}

void RtspAuth::challenge(const Question& question, bool stale, rtsp::Response& answer) const {
    http::Challenge challenge;
    challenge.realm = kRealm;
    if (question.encrypted) {
        challenge.scheme = http::AuthScheme::kBasic;
        answer.headers.add("WWW-Authenticate", http::write(challenge));
        challenge.scheme = http::AuthScheme::kDigest;
    }
    challenge.nonce = http::make_nonce(nonces_, question.peer.host(), seconds_now());
    challenge.stale = stale;
    // RFC 7616 §3.3: always. Clients of RFC 2069 (live555, GStreamer) answer without it.
    challenge.qop_auth = true;
    challenge.algorithm = http::DigestAlgorithm::kSha256;
    answer.headers.add("WWW-Authenticate", http::write(challenge));
    challenge.algorithm = http::DigestAlgorithm::kMd5;
    challenge.names_algorithm = false;
    answer.headers.add("WWW-Authenticate", http::write(challenge));
}

}  // namespace weir::session
