#include "proto/http/digest_nonce.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

using std::chrono::seconds;

constexpr NonceKey kKey = {1, 2, 3};
constexpr seconds kNow{1'000'000};
constexpr seconds kLifetime{60};

NonceState checked(std::string_view nonce, seconds now = kNow, std::string_view scope = "peer") {
    return check_nonce(nonce, kKey, scope, now, kLifetime);
}

TEST(DigestNonceTest, IsFreshForItsLifetimeAndStaleAfterIt) {
    const std::string nonce = make_nonce(kKey, "peer", kNow);
    EXPECT_EQ(nonce.size(), kNonceText);
    EXPECT_EQ(checked(nonce), NonceState::kFresh);
    EXPECT_EQ(checked(nonce, kNow + kLifetime), NonceState::kFresh);
    EXPECT_EQ(checked(nonce, kNow + kLifetime + seconds(1)), NonceState::kStale);
    EXPECT_EQ(checked(nonce, kNow - seconds(1)), NonceState::kStale);
}

TEST(DigestNonceTest, IsForeignWithAnotherKeyOrScope) {
    const std::string nonce = make_nonce(kKey, "peer", kNow);
    EXPECT_EQ(checked(nonce, kNow, "other"), NonceState::kForeign);
    EXPECT_EQ(check_nonce(nonce, NonceKey{1, 2, 4}, "peer", kNow, kLifetime), NonceState::kForeign);
    EXPECT_NE(make_nonce(kKey, "peer", kNow + seconds(1)), nonce);
}

TEST(DigestNonceTest, IsForeignWhenAnyCharacterChanges) {
    const std::string nonce = make_nonce(kKey, "peer", kNow);
    for (size_t i = 0; i < nonce.size(); i++) {
        std::string other = nonce;
        other[i] = other[i] == '0' ? '1' : '0';
        EXPECT_EQ(checked(other), NonceState::kForeign) << i;
        EXPECT_EQ(checked(nonce.substr(0, i)), NonceState::kForeign) << i;
    }
    EXPECT_EQ(checked(nonce + "0"), NonceState::kForeign);
    EXPECT_EQ(checked(std::string(kNonceText, 'F')), NonceState::kForeign);
    EXPECT_EQ(checked(std::string(kNonceText, '-')), NonceState::kForeign);
}

}  // namespace
}  // namespace weir::http
