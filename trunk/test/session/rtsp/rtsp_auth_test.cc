#include "session/rtsp/rtsp_auth.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "io/socket_address.h"
#include "proto/http/digest_auth.h"

#include "test/support/io/loopback.h"

namespace weir::session {
namespace {

using http::Challenge;
using http::Credentials;
using http::DigestAlgorithm;

constexpr std::string_view kUrl = "rtsp://host.example/live/a";

// Knows the user "studio" with the password "secret".
class OneUser final : public net::Policy {
  public:
    stream::StreamKey key_of(std::string_view,
                             std::string_view app,
                             std::string_view name) const override {
        return {"v", std::string(app), std::string(name)};
    }

    Result<net::PublishRules> may_publish(const net::AccessRequest&) const override {
        return net::PublishRules();
    }

    Result<net::PlayRules> may_play(const net::AccessRequest&) const override {
        return net::PlayRules();
    }

    net::PasswordAnswer check_password(const net::PasswordRequest& request) const override {
        return request.user == "studio" && request.proves("secret")
                   ? net::PasswordAnswer{.user = "studio", .scope = {}, .token = {}}
                   : net::PasswordAnswer();
    }
};

class RtspAuthTest : public testing::Test {
  protected:
    RtspAuth::Question question(bool encrypted = false) const {
        return {.request = request_, .key = key_, .peer = peer_, .encrypted = encrypted};
    }

    std::vector<Challenge> challenges(bool encrypted = false, bool stale = false) const {
        rtsp::Response answer;
        auth_.challenge(question(encrypted), stale, answer);
        return http::parse_challenges(answer.headers, "WWW-Authenticate");
    }

    // Who a client is that sends this with DESCRIBE.
    std::string user_of(const std::string& authorization) {
        request_.headers = {};
        request_.headers.add("Authorization", authorization);
        return auth_.check(question(), policy_).login.user;
    }

    std::string user_of(const Challenge& challenge, std::string_view password, uint32_t count) {
        return user_of(http::write(http::answer(challenge, {"studio", std::string(password)},
                                                "DESCRIBE", kUrl, "0a4f113b", count)));
    }

    static rtsp::Request describe() {
        rtsp::Request request;
        request.method = rtsp::Method::kDescribe;
        request.method_name = "DESCRIBE";
        request.url = kUrl;
        return request;
    }

    RtspAuth auth_;
    OneUser policy_;
    stream::StreamKey key_{"v", "live", "a"};
    io::SocketAddress peer_ = io::loopback();
    rtsp::Request request_ = describe();
};

TEST_F(RtspAuthTest, OffersQopWithBothAlgorithmsAndMd5Last) {
    const std::vector<Challenge> offered = challenges();
    ASSERT_EQ(offered.size(), 2U);
    EXPECT_EQ(offered[0].algorithm, DigestAlgorithm::kSha256);
    EXPECT_EQ(offered[1].algorithm, DigestAlgorithm::kMd5);
    EXPECT_FALSE(offered[1].names_algorithm);
    for (const Challenge& each : offered) {
        EXPECT_TRUE(each.qop_auth);
        EXPECT_FALSE(each.stale);
    }
    for (const Challenge& each : challenges(false, true)) {
        EXPECT_TRUE(each.stale);
    }
    const std::vector<Challenge> encrypted = challenges(true);
    ASSERT_EQ(encrypted.size(), 3U);
    EXPECT_EQ(encrypted[0].scheme, http::AuthScheme::kBasic);
}

TEST_F(RtspAuthTest, TakesAnswersWithQop) {
    for (const Challenge& each : challenges()) {
        EXPECT_EQ(user_of(each, "secret", 1), "studio");
        EXPECT_EQ(user_of(each, "secret", 2), "studio");
        EXPECT_EQ(user_of(each, "secret", 1), "studio") << "a client that does not count";
        EXPECT_EQ(user_of(each, "guess", 1), "");
    }
}

// As live555 and GStreamer do: they know nothing of qop.
TEST_F(RtspAuthTest, TakesAnswersWithoutQop) {
    for (Challenge each : challenges()) {
        each.qop_auth = false;
        each.opaque = {};
        EXPECT_EQ(user_of(each, "secret", 1), "studio");
        EXPECT_EQ(user_of(each, "guess", 1), "");
    }
}

// As aiortsp 1.4 does.
TEST_F(RtspAuthTest, TakesSha256ThatIsNotNamed) {
    Credentials made =
        http::answer(challenges()[0], {"studio", "secret"}, "DESCRIBE", kUrl, "c", 1);
    made.names_algorithm = false;
    const std::string text = http::write(made);
    EXPECT_EQ(text.find("algorithm"), std::string::npos);
    EXPECT_EQ(user_of(text), "studio");
}

TEST_F(RtspAuthTest, TakesNoAnswerWithQopWithoutItsNumbers) {
    const Challenge challenge = challenges()[1];
    const std::string text =
        http::write(http::answer(challenge, {"studio", "secret"}, "DESCRIBE", kUrl, "c", 1));
    EXPECT_EQ(user_of(text.substr(0, text.find(", nc="))), "");
    EXPECT_EQ(user_of(text.substr(0, text.find(", cnonce=")) + ", qop=auth, nc=00000001"), "");
}

TEST_F(RtspAuthTest, TakesNoNonceOfAnother) {
    rtsp::Response answer;
    RtspAuth().challenge(question(), false, answer);
    const std::vector<Challenge> foreign =
        http::parse_challenges(answer.headers, "WWW-Authenticate");
    ASSERT_EQ(foreign.size(), 2U);
    EXPECT_EQ(user_of(foreign[1], "secret", 1), "");
}

}  // namespace
}  // namespace weir::session
