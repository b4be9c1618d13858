#include "session/sip/sip_access.h"

#include <algorithm>
#include <chrono>

#include "base/random.h"
#include "net/limits.h"
#include "proto/http/digest_auth.h"

namespace weir::session {
namespace {

std::chrono::seconds seconds_of(MonoTime now) {
    return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
}

}  // namespace

SipAccess::SipAccess() {
    system_random().fill(nonces_);
}

SipAccess::Answer SipAccess::check(const sip::Request& request,
                                   const sip::Flow& flow,
                                   const SipServerOptions& options,
                                   MonoTime now,
                                   bool by_line) {
    const NetAddress peer = flow.remote.with_port(0);
    const NetAddress guesser = net::limited_address(io::SocketAddress::of(flow.remote));
    const bool trunk = !by_line && std::ranges::any_of(options.trunks, [&](const auto& range) {
        return range.contains(peer);
    });
    if (trunk) {
        return {Answer::Kind::kAllowed, {}, {}};
    }
    if (options.users.empty() ||
        (!by_line && wrong_.wait_for(guesser, kWrongPasswords, now) > Millis(0))) {
        return {};
    }
    const auto field = request.headers.get("Authorization");
    const auto shown = field ? http::parse_credentials(*field) : std::nullopt;
    const bool weak = shown && options.digest == SipDigest::kSha256 &&
                      (shown->algorithm == http::DigestAlgorithm::kMd5 ||
                       shown->algorithm == http::DigestAlgorithm::kMd5Sess);
    if (!shown || shown->scheme != http::AuthScheme::kDigest || weak) {
        return challenge(peer, false, options);
    }
    const http::NonceState nonce =
        http::check_nonce(shown->nonce, nonces_, peer.ip_text(), seconds_of(now), kNonceLifetime);
    if (nonce != http::NonceState::kFresh) {
        return challenge(peer, nonce == http::NonceState::kStale, options);
    }
    const auto user = std::ranges::find_if(
        options.users, [&](const SipUser& each) { return each.name == shown->user; });
    // A name that is not there takes as long.
    const std::string& password = user == options.users.end() ? options.realm : user->password;
    const bool proven =
        shown->uri == request.uri &&
        http::verify(*shown, options.realm, password,
                     request.method_name.empty() ? sip::to_string(request.method)
                                                 : std::string_view(request.method_name));
    if (proven && user != options.users.end()) {
        return {Answer::Kind::kAllowed, user->name, {}};
    }
    if (!by_line) {
        (void)wrong_.take(guesser, kWrongPasswords, now);
    }
    return challenge(peer, false, options);
}

// RFC 8760 §2.4 wants both, the stronger one first. There are phones that give up where one of two
// challenges names an algorithm that they do not know (libre 1), so the operator says which.
SipAccess::Answer SipAccess::challenge(const NetAddress& peer,
                                       bool stale,
                                       const SipServerOptions& options) const {
    Answer answer{Answer::Kind::kChallenge, {}, {}};
    http::Challenge challenge;
    challenge.realm = options.realm;
    challenge.nonce = http::make_nonce(nonces_, peer.ip_text(), seconds_of(MonoClock::now()));
    challenge.stale = stale;
    challenge.qop_auth = true;
    if (options.digest != SipDigest::kMd5) {
        challenge.algorithm = http::DigestAlgorithm::kSha256;
        answer.headers.add("WWW-Authenticate", http::write(challenge));
    }
    if (options.digest != SipDigest::kSha256) {
        challenge.algorithm = http::DigestAlgorithm::kMd5;
        challenge.names_algorithm = false;
        answer.headers.add("WWW-Authenticate", http::write(challenge));
    }
    return answer;
}

}  // namespace weir::session
