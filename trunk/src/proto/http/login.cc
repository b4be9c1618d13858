#include "proto/http/login.h"

#include <utility>
#include <vector>

namespace weir::http {
namespace {

constexpr size_t kCnonceSize = 16;

}  // namespace

Login::Outcome Login::on_challenge(const Fields& fields, std::string_view name) {
    const std::vector<Challenge> challenges = parse_challenges(fields, name);
    const Challenge* const chosen = strongest(challenges, allow_basic_);
    if (user_.empty()) {
        return Outcome::kMissing;
    }
    if (chosen == nullptr) {
        return Outcome::kUnsupported;
    }
    const bool digest = chosen->scheme == AuthScheme::kDigest;
    const bool again = answers_ > 0 && !(digest && chosen->stale);
    if (again || answers_ >= kMaxAnswers) {
        return Outcome::kWrong;
    }
    answers_++;
    if (!challenge_ || challenge_->nonce != chosen->nonce) {
        uses_ = 0;
    }
    challenge_ = *chosen;
    return Outcome::kAnswer;
}

std::string Login::authorization(std::string_view method,
                                 std::string_view uri,
                                 RandomSource& random) {
    if (!challenge_) {
        return {};
    }
    uses_++;
    return write(answer(*challenge_, user_, method, uri, random_id(random, kCnonceSize), uses_));
}

}  // namespace weir::http
