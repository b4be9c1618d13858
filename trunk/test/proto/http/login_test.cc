#include "proto/http/login.h"

#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "test/support/counting_random.h"

namespace weir::http {
namespace {

const UserInfo kUser = {"admin", "p@ss:word/#"};
constexpr std::string_view kUrl = "rtsp://camera/live";

Fields challenge(std::string_view text) {
    return {{"WWW-Authenticate", std::string(text)}};
}

class LoginTest : public testing::Test {
  protected:
    std::optional<Credentials> shown(Login& login, std::string_view method = "DESCRIBE") {
        return parse_credentials(login.authorization(method, kUrl, random_));
    }

    test::CountingRandom random_;
};

TEST_F(LoginTest, SaysNothingBeforeItIsAsked) {
    Login login(kUser, true);
    EXPECT_EQ(login.authorization("DESCRIBE", kUrl, random_), "");
}

TEST_F(LoginTest, AnswersEachRequestWithTheSameNonce) {
    Login login(kUser, false);
    login.begin_request();
    ASSERT_EQ(login.on_challenge(challenge("Digest realm=\"a\", nonce=\"n1\", qop=\"auth\"")),
              Login::Outcome::kAnswer);
    for (const std::string_view nc : {"00000001", "00000002", "00000003"}) {
        login.begin_request();
        const auto credentials = shown(login, "SETUP");
        ASSERT_TRUE(credentials);
        EXPECT_EQ(credentials->nonce, "n1");
        EXPECT_EQ(credentials->nc, nc);
        EXPECT_TRUE(verify(*credentials, "a", kUser.password, "SETUP"));
        EXPECT_FALSE(verify(*credentials, "a", "password", "SETUP"));
    }
}

TEST_F(LoginTest, PrefersTheStrongest) {
    Login login(kUser, true);
    Fields fields = challenge("Basic realm=\"a\"");
    fields.add("WWW-Authenticate", "Digest realm=\"a\", nonce=\"n\"");
    fields.add("WWW-Authenticate", "Digest realm=\"a\", nonce=\"n\", algorithm=SHA-256");
    ASSERT_EQ(login.on_challenge(fields), Login::Outcome::kAnswer);
    const auto credentials = shown(login);
    ASSERT_TRUE(credentials);
    EXPECT_EQ(credentials->algorithm, DigestAlgorithm::kSha256);
    EXPECT_TRUE(verify(*credentials, "a", kUser.password, "DESCRIBE"));
}

TEST_F(LoginTest, ShowsThePasswordOnlyWhereItMay) {
    Login shy(kUser, false);
    EXPECT_EQ(shy.on_challenge(challenge("Basic realm=\"a\"")), Login::Outcome::kUnsupported);
    EXPECT_EQ(shy.authorization("DESCRIBE", kUrl, random_), "");
    Login open(kUser, true);
    ASSERT_EQ(open.on_challenge(challenge("Basic realm=\"a\"")), Login::Outcome::kAnswer);
    const auto credentials = shown(open);
    ASSERT_TRUE(credentials);
    EXPECT_EQ(credentials->user, "admin");
    EXPECT_EQ(credentials->password, kUser.password);
}

TEST_F(LoginTest, HasNothingToAnswerWithoutAUser) {
    Login login({}, true);
    EXPECT_EQ(login.on_challenge(challenge("Basic realm=\"a\"")), Login::Outcome::kMissing);
}

TEST_F(LoginTest, TakesASecondChallengeForAWrongPassword) {
    Login login(kUser, true);
    login.begin_request();
    ASSERT_EQ(login.on_challenge(challenge("Digest realm=\"a\", nonce=\"n1\"")),
              Login::Outcome::kAnswer);
    EXPECT_EQ(login.on_challenge(challenge("Digest realm=\"a\", nonce=\"n2\"")),
              Login::Outcome::kWrong);
    Login basic(kUser, true);
    basic.begin_request();
    ASSERT_EQ(basic.on_challenge(challenge("Basic realm=\"a\"")), Login::Outcome::kAnswer);
    EXPECT_EQ(basic.on_challenge(challenge("Basic realm=\"a\"")), Login::Outcome::kWrong);
}

TEST_F(LoginTest, GoesOnWithAFreshNonceWhenTheOldOneIsStale) {
    Login login(kUser, false);
    login.begin_request();
    ASSERT_EQ(login.on_challenge(challenge("Digest realm=\"a\", nonce=\"n1\", stale=true")),
              Login::Outcome::kAnswer);
    ASSERT_EQ(login.on_challenge(challenge("Digest realm=\"a\", nonce=\"n2\", stale=true")),
              Login::Outcome::kAnswer);
    EXPECT_EQ(shown(login)->nonce, "n2");
    ASSERT_EQ(login.on_challenge(challenge("Digest realm=\"a\", nonce=\"n3\", stale=true")),
              Login::Outcome::kAnswer);
    // A server that says so for ever.
    EXPECT_EQ(login.on_challenge(challenge("Digest realm=\"a\", nonce=\"n4\", stale=true")),
              Login::Outcome::kWrong);
    // A camera that forgets the word: the answer to the old nonce was of an earlier request.
    login.begin_request();
    EXPECT_EQ(login.on_challenge(challenge("Digest realm=\"a\", nonce=\"n5\"")),
              Login::Outcome::kAnswer);
}

}  // namespace
}  // namespace weir::http
