#include "proto/rtmp/adobe_auth.h"

#include <gtest/gtest.h>

#include "proto/rtmp/stream_name.h"

#include "test/support/counting_random.h"

namespace weir::rtmp {
namespace {

constexpr int64_t kNow = 1'700'000'000'000;
constexpr std::string_view kPeer = "203.0.113.9";
using Verdict = AdobeAuthenticator::Verdict;

// An encoder's side: from the description of the second rejection to the query of the third
// connect.
std::string answer_to(std::string_view description,
                      std::string_view user,
                      std::string_view password) {
    const std::string_view query = description.substr(description.find('?') + 1);
    EXPECT_EQ(query_value(query, "reason"), "needauth");
    const std::string_view salt = query_value(query, "salt");
    const std::string_view opaque = query_value(query, "opaque");
    return fmt::format(
        "authmod=adobe&user={}&challenge=0123abcd&response={}&opaque={}", user,
        adobe_response(query_value(query, "user"), salt, password, opaque, "0123abcd"), opaque);
}

class AdobeAuthTest : public testing::Test {
  protected:
    std::string query_for(std::string_view password, std::string_view user = "studio") {
        return answer_to(adobe_.challenge(user, kPeer, kNow).description(user), user, password);
    }

    Verdict check(std::string_view query,
                  std::string_view peer = kPeer,
                  int64_t now_ms = kNow + 100) {
        return adobe_.check(AdobeQueryView::parse(query), peer, passwords_, now_ms);
    }

    weir::test::CountingRandom random_;
    AdobeAuthenticator adobe_{random_};
    std::vector<std::string> passwords_ = {"old one", "pass word"};
};

// Computed by hand with md5sum and base64: base64(md5("studioabcpass")) is
// NOGcMYWnIcmO576Ugf9raQ==; then base64(md5(that + "chal" + "0123abcd")).
TEST(AdobeResponseTest, GivesTheKnownAnswer) {
    EXPECT_EQ(adobe_response("studio", "abc", "pass", "chal", "0123abcd"),
              "ybJDfyIM4L7r2ESNsZHe+w==");
}

TEST(AdobeResponseTest, SaysWhatEncodersLookFor) {
    EXPECT_NE(adobe_need_auth().find("code=403 need auth"), std::string::npos);
    EXPECT_NE(adobe_need_auth().find("authmod=adobe"), std::string::npos);
    EXPECT_NE(adobe_failed().find("?reason=authfailed"), std::string::npos);
}

// An encoder answers by a new connection, which may come to another process.
TEST_F(AdobeAuthTest, AChallengeOfAnotherOneIsGoodWhereTheSecretIsShared) {
    AdobeAuthenticator other(random_);
    const std::string query = answer_to(
        other.challenge("studio", kPeer, kNow).description("studio"), "studio", "pass word");
    EXPECT_EQ(check(query), Verdict::kStale);
    const AdobeAuthenticator::Secret secret{1, 2, 3};
    adobe_.share(secret);
    other.share(secret);
    const std::string shared = answer_to(
        other.challenge("studio", kPeer, kNow).description("studio"), "studio", "pass word");
    EXPECT_EQ(check(shared), Verdict::kGood);
    EXPECT_EQ(check(shared), Verdict::kStale) << "it was used";
}

TEST_F(AdobeAuthTest, TakesTheRightPassword) {
    EXPECT_EQ(check(query_for("pass word")), Verdict::kGood);
    EXPECT_EQ(check(query_for("old one")), Verdict::kGood);
}

TEST_F(AdobeAuthTest, RefusesAWrongPassword) {
    EXPECT_EQ(check(query_for("pass")), Verdict::kWrong);
    EXPECT_EQ(check(query_for("")), Verdict::kWrong);
    passwords_.clear();  // nobody has that name
    EXPECT_EQ(check(query_for("")), Verdict::kWrong);
    EXPECT_EQ(check(query_for("pass word")), Verdict::kWrong);
}

// As of librtmp of Debian, which writes on to the next zero byte.
TEST_F(AdobeAuthTest, TakesAnAnswerWithGarbageBehindItsTexts) {
    std::string query = query_for("pass word");
    query.insert(query.find("&response="), "\x7F@x");
    query.insert(query.find("&opaque="), "garbage");
    EXPECT_EQ(check(query), Verdict::kGood);
    query = query_for("pass");
    query.insert(query.find("&opaque="), "garbage");
    EXPECT_EQ(check(query), Verdict::kWrong);
}

TEST_F(AdobeAuthTest, TakesAnAnswerOnce) {
    const std::string query = query_for("pass word");
    EXPECT_EQ(check(query), Verdict::kGood);
    EXPECT_EQ(check(query), Verdict::kStale);
}

TEST_F(AdobeAuthTest, BindsAChallengeToUserAddressAndTime) {
    const std::string query = query_for("pass word");
    EXPECT_EQ(check(query, "203.0.113.10"), Verdict::kStale);
    EXPECT_EQ(check(query, kPeer, kNow + AdobeAuthenticator::kLifetimeMs + 1), Verdict::kStale);
    EXPECT_EQ(check(query, kPeer, kNow - 60'000), Verdict::kStale);
    std::string other = query;
    other.replace(other.find("studio"), 6, "studi0");
    EXPECT_EQ(check(other), Verdict::kStale);
    EXPECT_EQ(check(query), Verdict::kGood);
}

TEST_F(AdobeAuthTest, TakesNoChallengeThatItDidNotMake) {
    const std::string query = query_for("pass word");
    for (size_t at = query.find("opaque=") + 7; at < query.size(); at++) {
        std::string changed = query;
        changed[at] = changed[at] == '0' ? '1' : '0';
        EXPECT_EQ(check(changed), Verdict::kStale) << at;
        EXPECT_EQ(check(query.substr(0, at)), Verdict::kStale) << at;
    }
    EXPECT_EQ(check(""), Verdict::kStale);
    weir::test::CountingRandom same;
    std::array<uint8_t, 1> skipped{};  // so that its secret is another one
    same.fill(skipped);
    AdobeAuthenticator stranger(same);
    const std::string foreign = answer_to(
        stranger.challenge("studio", kPeer, kNow).description("studio"), "studio", "pass word");
    EXPECT_EQ(check(foreign), Verdict::kStale);
}

TEST_F(AdobeAuthTest, TakesAsUserOnlyWhatAQueryCanCarry) {
    for (const char* good : {"studio", "a", "first.last@example.org", "x-1_2+3"}) {
        EXPECT_TRUE(AdobeAuthenticator::is_user_name(good)) << good;
    }
    for (const char* bad : {"", "a b", "a&reason=x", "a\nb", "a?b", "a=b", "\xC3\xA9"}) {
        EXPECT_FALSE(AdobeAuthenticator::is_user_name(bad)) << bad;
    }
    EXPECT_FALSE(AdobeAuthenticator::is_user_name(std::string(129, 'a')));
}

}  // namespace
}  // namespace weir::rtmp
