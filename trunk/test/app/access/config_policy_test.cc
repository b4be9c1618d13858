#include "app/access/config_policy.h"

#include <memory>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/hmac.h"
#include "io/socket_address.h"
#include "proto/http/request.h"
#include "proto/rtmp/stream_name.h"

#include "test/app/access/test_config.h"

namespace weir::app {
namespace {

using net::Refusal;
using testing::HasSubstr;

constexpr std::string_view kLocal = "127.0.0.1:5000";
constexpr std::string_view kRemote = "203.0.113.9:5000";
constexpr std::string_view kJwtSecret = "0123456789abcdef0123456789abcdef";

// What a server makes of a configuration.
class Rules {
  public:
    explicit Rules(std::string_view text) : config_(config_of(text)) {
        access_.use(secrets_of(config_));
    }

    // Empty when it is allowed.
    std::string publish(std::string_view peer, std::string_view token = {}, std::string user = {}) {
        return ask(config::Action::kPublish, peer, token, user);
    }

    std::string play(std::string_view peer, std::string_view token = {}) {
        return ask(config::Action::kPlay, peer, token, {});
    }

    std::string publish_from_page(std::string_view peer,
                                  std::string host,
                                  std::string origin,
                                  std::string_view token = {},
                                  std::string proxy_field = {}) {
        http::Request request;
        if (!proxy_field.empty()) {
            request.headers.add(std::move(proxy_field), "x");
        }
        request.host = std::move(host);
        if (!origin.empty()) {
            request.headers.add("Origin", std::move(origin));
        }
        http_ = &request;
        std::string why = ask(config::Action::kPublish, peer, token, {});
        http_ = nullptr;
        return why;
    }

    net::LoginAnswer login(std::string_view query,
                           bool publishes = true,
                           std::string_view peer = kRemote) {
        const io::SocketAddress address = io::SocketAddress::parse(peer).value();
        net::LoginAnswer answer = policy_.login({"any", app, query, publishes, address});
        scope = answer.scope;
        return answer;
    }

    bool plays_openly(std::string_view peer) {
        const stream::StreamKey key = policy_.key_of(vhost, "live", "room");
        const io::SocketAddress address = io::SocketAddress::parse(peer).value();
        return policy_.plays_openly({.key = key, .peer = address});
    }

    uint64_t refused(Refusal reason) const { return limits_.refused(reason); }

    ConfigPolicy& policy() { return policy_; }

    std::string vhost;
    std::string app = "live";
    std::string name = "room";
    std::string scope;  // of the login before

  private:
    std::string ask(config::Action action,
                    std::string_view peer,
                    std::string_view token,
                    std::string_view user) {
        const stream::StreamKey key = policy_.key_of(vhost, app, name);
        const io::SocketAddress address = io::SocketAddress::parse(peer).value();
        const net::AccessRequest request{.key = key,
                                         .peer = address,
                                         .token = token,
                                         .user = user,
                                         .user_scope = scope,
                                         .http = http_};
        Error error;
        if (action == config::Action::kPublish) {
            error = policy_.may_publish(request).take_error();
        } else {
            error = policy_.may_play(request).take_error();
        }
        EXPECT_TRUE(!error || error.code() == ErrorCode::kDenied);
        return std::string(error.message());
    }

    config::Config config_;
    net::Limits limits_;
    AccessControl access_{limits_};
    ConfigPolicy policy_{config_, access_, limits_};
    const http::Request* http_ = nullptr;
};

TEST(ConfigPolicyTest, WithoutAnythingPublishesFromLoopbackAndPlaysFromEverywhere) {
    Rules rules("");
    EXPECT_EQ(rules.publish(kLocal), "");
    EXPECT_THAT(rules.publish(kRemote), HasSubstr("allow publish 203.0.113.9"));
    EXPECT_EQ(rules.play(kRemote), "");
    EXPECT_EQ(rules.refused(Refusal::kAddress), 1U);
}

TEST(ConfigPolicyTest, ARefusalNamesTheRuleAndTheApplicationThatWasMeant) {
    Rules rules(
        "security { deny publish all; allow publish 127.0.0.1; } "
        "application live { security { allow publish all; } } application cameras { }");
    EXPECT_EQ(rules.publish(kRemote), "");
    static std::string logged;  // a sink is a plain function
    log::set_sink([](log::Level, std::string_view line) { logged += line; });
    rules.app = "lvie";
    EXPECT_THAT(rules.publish(kLocal),
                testing::AllOf(HasSubstr("\"deny publish all;\" is the first one that fits"),
                               Not(HasSubstr("live"))))
        << "names are not for whoever guesses";
    EXPECT_THAT(logged, HasSubstr("there is no application lvie, did its client mean live?"));
    logged.clear();
    rules.app = "cameras";
    EXPECT_THAT(rules.publish(kLocal), HasSubstr("of the rules of application cameras of vhost"));
    EXPECT_EQ(logged, "");
    log::set_sink(nullptr);
}

TEST(ConfigPolicyTest, AKeyAloneOpensPublishingToEveryAddress) {
    Rules rules("security { publish_key s3cret; publish_key next; }");
    EXPECT_EQ(rules.publish(kRemote, "s3cret"), "");
    EXPECT_EQ(rules.publish(kRemote, "next"), "");
    EXPECT_THAT(rules.publish(kRemote), HasSubstr("publishing needs a key: ?key=KEY"));
    EXPECT_THAT(rules.publish(kLocal), HasSubstr("needs a key")) << "loopback too";
    for (const char* wrong : {"s3cre", "s3cret ", "S3cret", "s3cretnext", "x"}) {
        EXPECT_EQ(rules.publish(kRemote, wrong), "the key is wrong") << wrong;
    }
    EXPECT_EQ(rules.refused(Refusal::kKeyMissing), 2U);
    EXPECT_EQ(rules.refused(Refusal::kKeyWrong), 5U);
    EXPECT_EQ(rules.play(kRemote), "") << "playing stays open";
}

TEST(ConfigPolicyTest, ADenyRuleStillRefusesWithTheRightKey) {
    Rules rules("security { deny publish 203.0.113.0/24; publish_key s3cret; }");
    EXPECT_THAT(rules.publish(kRemote, "s3cret"), HasSubstr("not allowed"));
    EXPECT_EQ(rules.publish("198.51.100.1:1", "s3cret"), "");
}

TEST(ConfigPolicyTest, WithAnAllowRuleBothAreAsked) {
    Rules rules("security { allow publish 203.0.113.9; publish_key s3cret; }");
    EXPECT_EQ(rules.publish(kRemote, "s3cret"), "");
    EXPECT_THAT(rules.publish(kRemote), HasSubstr("needs a key"));
    EXPECT_THAT(rules.publish("198.51.100.1:1", "s3cret"), HasSubstr("not allowed"));
    EXPECT_EQ(rules.publish(kLocal, "s3cret"), "") << "as the unwritten rule says";
}

TEST(ConfigPolicyTest, WithSatisfyAnyOneOfBothIsEnough) {
    Rules rules(
        "security { satisfy any; allow publish 127.0.0.1; deny publish 198.51.100.1; "
        "publish_key s3cret; }");
    EXPECT_EQ(rules.publish(kLocal), "");
    EXPECT_EQ(rules.publish(kRemote, "s3cret"), "");
    EXPECT_THAT(rules.publish(kRemote), HasSubstr("needs a key"));
    EXPECT_THAT(rules.publish("198.51.100.1:1", "s3cret"), HasSubstr("not allowed"));
}

TEST(ConfigPolicyTest, PlayingHasKeysOfItsOwn) {
    Rules rules("security { play_key watch; publish_key s3cret; }");
    EXPECT_EQ(rules.play(kRemote, "watch"), "");
    EXPECT_THAT(rules.play(kRemote), HasSubstr("playing needs a key"));
    EXPECT_EQ(rules.play(kRemote, "s3cret"), "the key is wrong");
    EXPECT_EQ(rules.publish(kRemote, "watch"), "the key is wrong");
}

TEST(ConfigPolicyTest, AVhostHasKeysOfItsOwn) {
    Rules rules(
        "security { publish_key one; } vhost a.b { security { publish_key two; } } "
        "vhost open { security { } } vhost same { }");
    EXPECT_EQ(rules.publish(kRemote, "one"), "");
    rules.vhost = "a.b";
    EXPECT_EQ(rules.publish(kRemote, "one"), "the key is wrong");
    EXPECT_EQ(rules.publish(kRemote, "two"), "");
    rules.vhost = "open";
    EXPECT_THAT(rules.publish(kRemote, "one"), HasSubstr("not allowed"));
    EXPECT_EQ(rules.publish(kLocal), "");
    rules.vhost = "same";
    EXPECT_EQ(rules.publish(kRemote, "one"), "");
}

std::string jwt(std::string_view claims) {
    const std::string front =
        base64url(as_bytes(R"({"alg":"HS256"})")) + "." + base64url(as_bytes(claims));
    return front + "." + base64url(hmac_sha256(as_bytes(kJwtSecret), as_bytes(front)));
}

TEST(ConfigPolicyTest, ATokenOpensWhatItNames) {
    Rules rules(fmt::format("security {{ jwt_secret {}; publish_key s3cret; }}", kJwtSecret));
    const std::string plays =
        jwt(R"({"app":"live","stream":"ro*","action":"play","exp":9999999999})");
    EXPECT_EQ(rules.play(kRemote, plays), "");
    EXPECT_EQ(rules.publish(kRemote, plays), "the token is refused: it does not allow that action");
    EXPECT_EQ(rules.publish(kRemote, "s3cret"), "") << "a key does it too";
    EXPECT_THAT(rules.publish(kRemote), HasSubstr("needs a key or token"));
    EXPECT_THAT(rules.play(kRemote), HasSubstr("playing needs a token: ?key=TOKEN"));
    EXPECT_EQ(rules.play(kRemote, "nonsense"), "the token (or key) is wrong");
    EXPECT_EQ(rules.play(kRemote, jwt(R"({"app":"live","stream":"room","action":"play","exp":1})")),
              "the token is refused: it has expired");
    EXPECT_EQ(rules.refused(Refusal::kToken), 2U);
}

TEST(ConfigPolicyTest, TokensMayBeForOneActionOnly) {
    Rules rules(fmt::format("security {{ jwt_secret {}; jwt_actions publish; }}", kJwtSecret));
    EXPECT_EQ(rules.play(kRemote), "");
    EXPECT_THAT(rules.publish(kLocal), HasSubstr("needs a token"));
}

// A page of another site in a browser whose address may publish.
TEST(ConfigPolicyTest, LetsNoStrangersPagePublishByItsReadersAddress) {
    Rules rules("server_name media.example.org;");
    EXPECT_EQ(rules.publish_from_page(kLocal, "127.0.0.1:8080", ""), "");
    EXPECT_EQ(rules.publish_from_page(kLocal, "127.0.0.1:8080", "http://127.0.0.1:8080"), "");
    EXPECT_EQ(rules.publish_from_page(kLocal, "media.example.org", "https://media.example.org"),
              "");
    EXPECT_THAT(rules.publish_from_page(kLocal, "127.0.0.1:8080", "https://evil.example"),
                HasSubstr("allow_origin https://evil.example;"));
    EXPECT_NE(rules.publish_from_page(kLocal, "evil.example:8080", "http://evil.example:8080"), "");
    EXPECT_NE(rules.publish_from_page(kLocal, "127.0.0.1:8080", "null"), "");
    EXPECT_EQ(rules.refused(Refusal::kOrigin), 3U);
}

// What a developer serves on another port of the same machine.
TEST(ConfigPolicyTest, LetsPagesOfThisMachinePublishOverLoopback) {
    Rules rules("server_name media.example.org;");
    EXPECT_EQ(rules.publish_from_page(kLocal, "127.0.0.1:8080", "http://127.0.0.1:3000"), "");
    EXPECT_EQ(rules.publish_from_page(kLocal, "localhost:8080", "http://localhost:5173"), "");
    EXPECT_EQ(rules.publish_from_page("[::1]:5000", "[::1]:8080", "http://app.localhost"), "");
    for (const char* host : {"evil.example:8080", "media.example.org", "[::1].evil.com"}) {
        EXPECT_NE(rules.publish_from_page(kLocal, host, "http://127.0.0.1:3000"), "") << host;
    }
    for (const char* page :
         {"https://evil.example", "http://192.168.0.1:3000", "http://127.0.0.1.evil.example:3000",
          "http://[::1].evil.com", "null"}) {
        EXPECT_NE(rules.publish_from_page(kLocal, "127.0.0.1:8080", page), "") << page;
    }
    for (const char* field : {"X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"}) {
        EXPECT_NE(
            rules.publish_from_page(kLocal, "127.0.0.1:8080", "http://127.0.0.1:3000", "", field),
            "")
            << field << ": whose loopback that page means, nobody knows";
    }
    // Not over loopback: the page is of another machine, however it calls itself.
    Rules network("security { allow publish 203.0.113.0/24; }");
    EXPECT_NE(network.publish_from_page(kRemote, "127.0.0.1:8080", "http://127.0.0.1:3000"), "");
    EXPECT_NE(network.publish_from_page(kRemote, "192.0.2.1:8080", "http://127.0.0.1:3000"), "");
}

// For the list of streams: the answer of may_play(), and nobody is refused.
TEST(ConfigPolicyTest, TellsWhatPlaysOpenly) {
    const auto plays_openly = [](std::string_view text) {
        return std::make_unique<Rules>(text)->plays_openly(kRemote);
    };
    EXPECT_TRUE(plays_openly(""));
    EXPECT_FALSE(plays_openly("security { deny play all; }"));
    EXPECT_FALSE(plays_openly("security { jwt_secret " + std::string(kJwtSecret) + "; }"));
    EXPECT_FALSE(plays_openly("vhost __defaultVhost__ { enabled off; }"));
}

TEST(ConfigPolicyTest, CountsNobodyForAskingWhatPlaysOpenly) {
    Rules keyed("security { play_key s3cret; }");
    EXPECT_FALSE(keyed.plays_openly(kRemote));
    EXPECT_FALSE(keyed.plays_openly(kLocal));
    EXPECT_EQ(keyed.refused(Refusal::kKeyMissing), 0U) << "that was a question only";
    EXPECT_NE(keyed.play(kRemote), "");
    EXPECT_EQ(keyed.refused(Refusal::kKeyMissing), 1U);
}

TEST(ConfigPolicyTest, WhatPlaysOpenlyDependsOnTheAddress) {
    Rules office("security { allow play 203.0.113.0/24; deny play all; }");
    EXPECT_TRUE(office.plays_openly(kRemote));
    EXPECT_FALSE(office.plays_openly("198.51.100.1:5000"));
    Rules either("security { play_key s3cret; satisfy any; allow play 203.0.113.0/24; }");
    EXPECT_TRUE(either.plays_openly(kRemote));
    EXPECT_FALSE(either.plays_openly("198.51.100.1:5000"));
}

TEST(ConfigPolicyTest, LetsAStrangersPagePublishWhereThereIsNothingToBorrow) {
    Rules open("security { allow publish all; }");
    EXPECT_EQ(open.publish_from_page(kRemote, "h.example", "https://evil.example"), "")
        << "everybody may: there is nothing to borrow";
    Rules keyed("security { publish_key s3cret; }");
    EXPECT_EQ(keyed.publish_from_page(kRemote, "h.example", "https://a.example", "s3cret"), "")
        << "the page knows the key";
}

TEST(ConfigPolicyTest, LetsAListedPagePublish) {
    Rules listed("security { allow_origin https://studio.example.org; }");
    EXPECT_EQ(listed.publish_from_page(kLocal, "localhost", "https://studio.example.org"), "");
    EXPECT_NE(listed.publish_from_page(kLocal, "localhost", "https://evil.example"), "");
    Rules network("security { allow publish 203.0.113.0/24; }");
    EXPECT_NE(network.publish_from_page(kRemote, "192.0.2.1:8080", "https://evil.example"), "");
}

class LoginTest : public testing::Test {
  protected:
    Rules rules_{"security { publish_user studio 'pass word'; }"};

    std::string answer(std::string_view password, std::string_view user = "studio") {
        return answer_for(rules_, password, user);
    }

    static std::string answer_for(Rules& rules,
                                  std::string_view password,
                                  std::string_view user = "studio") {
        const std::string asked = rules.login(fmt::format("authmod=adobe&user={}", user)).refusal;
        EXPECT_THAT(asked, HasSubstr("?reason=needauth"));
        const std::string_view query = std::string_view(asked).substr(asked.find('?') + 1);
        const std::string_view opaque = rtmp::query_value(query, "opaque");
        return fmt::format("authmod=adobe&user={}&challenge=01234567&response={}&opaque={}", user,
                           rtmp::adobe_response(user, rtmp::query_value(query, "salt"), password,
                                                opaque, "01234567"),
                           opaque);
    }
};

TEST_F(LoginTest, AsksPublishersAndLetsPlayersPass) {
    EXPECT_THAT(rules_.login("").refusal, HasSubstr("code=403 need auth; authmod=adobe"));
    EXPECT_EQ(rules_.login("", false).refusal, "");
    EXPECT_EQ(rules_.login("key=x").refusal, "") << "the publish command says whether it is right";
    EXPECT_EQ(rules_.play(kRemote), "");
    EXPECT_THAT(rules_.publish(kLocal), HasSubstr("needs a user and a password"));
}

TEST_F(LoginTest, LetsTheRightPasswordIn) {
    const net::LoginAnswer login = rules_.login(answer("pass word"));
    EXPECT_EQ(login.refusal, "");
    EXPECT_EQ(login.user, "studio");
    EXPECT_EQ(rules_.publish(kRemote, "", login.user), "");
    EXPECT_NE(rules_.publish(kRemote, "", "nobody"), "");
}

TEST_F(LoginTest, RefusesTheWrongPasswordAndTheWrongName) {
    EXPECT_THAT(rules_.login(answer("pass")).refusal, HasSubstr("?reason=authfailed"));
    EXPECT_THAT(rules_.login(answer("pass word", "nobody")).refusal,
                HasSubstr("?reason=authfailed"));
    EXPECT_THAT(rules_.login("authmod=adobe&user=a\r\nb").refusal, HasSubstr("authfailed"));
    EXPECT_EQ(rules_.refused(Refusal::kLogin), 3U);
    EXPECT_EQ(rules_.login("authmod=adobe&user=nobody").user, "");
}

TEST_F(LoginTest, AnAnswerIsForItsAddressAndOnce) {
    const std::string query = answer("pass word");
    EXPECT_NE(rules_.login(query, true, "198.51.100.1:1").refusal, "");
    EXPECT_EQ(rules_.login(query).user, "studio");
    EXPECT_NE(rules_.login(query).refusal, "");
}

TEST_F(LoginTest, GuessesAreFew) {
    for (int i = 0; i < 10; i++) {
        EXPECT_NE(rules_.login(answer(fmt::format("guess {}", i))).refusal, "");
    }
    EXPECT_THAT(rules_.login(answer("pass word")).refusal, HasSubstr("authfailed"))
        << "whatever it shows";
    EXPECT_EQ(rules_.refused(Refusal::kLogin), 11U);
    const std::string elsewhere = "198.51.100.1:1";
    const std::string asked = rules_.login("authmod=adobe&user=studio", true, elsewhere).refusal;
    EXPECT_THAT(asked, HasSubstr("needauth")) << "another address is asked";
    for (int i = 0; i < 3; i++) {
        EXPECT_THAT(rules_.login(answer("x", "other")).refusal, HasSubstr("authfailed"));
    }
}

TEST(ConfigPolicyTest, WithoutUsersNobodyIsAskedToLogIn) {
    Rules rules("security { publish_key s3cret; }");
    EXPECT_EQ(rules.login("").refusal, "");
    EXPECT_EQ(rules.login("authmod=adobe&user=x").refusal, "");
}

TEST(ConfigPolicyTest, HandsTheLimitsOn) {
    Rules rules("max_players 7; max_publish_bitrate 8m; vhost a.b { max_publish_bitrate 500k; }");
    const io::SocketAddress peer = io::SocketAddress::parse(kLocal).value();
    const stream::StreamKey key = rules.policy().key_of("", "live", "room");
    const stream::StreamKey other = rules.policy().key_of("a.b", "live", "room");
    EXPECT_EQ(rules.policy().may_play({.key = key, .peer = peer})->max_players, 7U);
    EXPECT_EQ(rules.policy().may_publish({.key = key, .peer = peer})->max_bits_per_second,
              8'000'000U);
    EXPECT_EQ(rules.policy().may_publish({.key = other, .peer = peer})->max_bits_per_second,
              500'000U);
}

constexpr std::string_view kApplications =
    "security { deny publish all; allow play all; }"
    "application vip { security { allow publish 203.0.113.9; deny play all; } }"
    "application vip/open { security { allow play all; } }"
    "application off { enabled off; }"
    "application keys { max_players 3; security { publish_key s3cret; } }"
    "application like { max_players 4; }";

// Whether a stream of that app may be published and played from kRemote.
std::string allowed(Rules& rules, std::string app, std::string name = "room") {
    rules.app = std::move(app);
    rules.name = std::move(name);
    return fmt::format("{}{}", rules.publish(kRemote).empty() ? "publish " : "",
                       rules.play(kRemote).empty() ? "play" : "");
}

TEST(ConfigPolicyTest, AnApplicationHasRulesOfItsOwn) {
    Rules rules(kApplications);
    EXPECT_EQ(allowed(rules, "live"), "play") << "as the vhost says";
    EXPECT_EQ(allowed(rules, "vip"), "publish ");
    EXPECT_EQ(allowed(rules, "like"), "play") << "what it does not say is as in its vhost";
    EXPECT_EQ(allowed(rules, "off"), "");
    EXPECT_EQ(allowed(rules, "off/room"), "");
    EXPECT_THAT(rules.play(kLocal), HasSubstr("application off is disabled"));
    rules.app = "keys";
    EXPECT_EQ(rules.publish(kRemote, "s3cret"), "");
    EXPECT_THAT(rules.publish(kRemote), HasSubstr("needs a key"));
    rules.app = "live";
    EXPECT_NE(rules.publish(kRemote, "s3cret"), "");
    rules.app = "vip";
    EXPECT_THAT(rules.publish("198.51.100.1:1"),
                HasSubstr("to application vip of vhost __defaultVhost__"));
}

// However a client spells it, it gets no rules that are not meant for the stream that it reaches.
TEST(ConfigPolicyTest, NoSpellingGetsAroundTheRulesOfAnApplication) {
    Rules rules(kApplications);
    for (const char* same :
         {"vip", "vip/", "/vip", "//vip//", "vip/room", "vip//room/", "vip/inst"}) {
        EXPECT_EQ(allowed(rules, same), "publish ") << same;
    }
    EXPECT_EQ(allowed(rules, "vip/open"), "play");
    EXPECT_EQ(allowed(rules, "vip/open/more"), "play");
    EXPECT_EQ(allowed(rules, "vip", "open/room"), "play") << "app vip/open";
    EXPECT_EQ(allowed(rules, "", "vip/room"), "publish ");
    for (const char* other : {"vipers", "vi", "live/vip", "vip.x", "vip?x"}) {
        EXPECT_EQ(allowed(rules, other), "play") << other << " is another application";
    }
    for (const char* odd :
         {"VIP", "Vip/room", "vIp//", "vip/OPEN", "Vip/open", "OFF", "Keys", "LIKE"}) {
        EXPECT_EQ(allowed(rules, odd), "") << odd;
        EXPECT_THAT(rules.play(kRemote), HasSubstr("upper and lower case differ")) << odd;
    }
}

TEST(ConfigPolicyTest, KeysOfStreamsAreInNormalForm) {
    Rules rules("");
    const auto key = [&](std::string_view app, std::string_view name) {
        return rules.policy().key_of("", app, name).to_string();
    };
    for (const auto& [app, name] : {std::pair("a/b", "c"), std::pair("a", "b/c"),
                                    std::pair("/a//b/", "/c/"), std::pair("", "a/b/c")}) {
        EXPECT_EQ(key(app, name), "/a/b/c");
    }
    EXPECT_EQ(rules.policy().key_of("", "/a/", "").app, "a");
    for (const auto& [app, name] : {std::pair("/", "x"), std::pair("live", "//")}) {
        rules.app = app;
        rules.name = name;
        EXPECT_THAT(rules.play(kLocal), HasSubstr("which stream?")) << app << " " << name;
    }
}

TEST(ConfigPolicyTest, AGroupIsOneStreamUnderUdpAndRtp) {
    Rules rules("application udp { security { deny play all; } }");
    const auto key = [&](std::string_view app, std::string_view name) {
        return rules.policy().key_of("", app, name).to_string();
    };
    EXPECT_EQ(key("rtp", "239.1.1.1:5000"), "/udp/239.1.1.1:5000");
    EXPECT_EQ(key("/rtp/", "10.0.0.1@232.1.1.1:5000@eth1"), "/udp/10.0.0.1@232.1.1.1:5000@eth1");
    EXPECT_EQ(key("", "rtp/[ff15::1]:5000"), "/udp/[ff15::1]:5000");
    for (const char* other : {"cam", "10.0.0.1:5000", "239.1.1.1", "239.1.1.1:0"}) {
        EXPECT_EQ(key("rtp", other), std::string("/rtp/") + other) << "a stream of application rtp";
    }
    EXPECT_EQ(key("live/rtp", "239.1.1.1:5000"), "/live/rtp/239.1.1.1:5000");
    rules.app = "rtp";
    rules.name = "239.1.1.1:5000";
    EXPECT_NE(rules.play(kLocal), "") << "the rules are those of application udp";
}

TEST(ConfigPolicyTest, NoNameLeadsOutOfItsApplication) {
    Rules rules("application secret { security { deny play all; } }");
    for (const auto& [app, name] :
         {std::pair("live/../secret", "cam"), std::pair("live", "../secret/cam"),
          std::pair("live/.", "cam"), std::pair("..", "cam"), std::pair("live", "..")}) {
        EXPECT_EQ(allowed(rules, app, name), "") << app << " " << name;
        EXPECT_THAT(rules.play(kLocal), HasSubstr("as a part")) << app << " " << name;
    }
    EXPECT_EQ(allowed(rules, "live", "a\r\nb"), "");
    EXPECT_EQ(allowed(rules, "live", "..a"), "play");
}

TEST(ConfigPolicyTest, ApplicationsBelongToTheirVhost) {
    Rules rules(
        "vhost a.b { application vip { security { deny play all; } } }"
        "vhost c.d { play { wait_publisher 5s; } }");
    rules.vhost = "a.b";
    EXPECT_EQ(allowed(rules, "vip"), "");
    EXPECT_EQ(allowed(rules, "live"), "play");
    rules.vhost = "c.d";
    EXPECT_EQ(allowed(rules, "vip"), "play");
    rules.vhost = "";
    EXPECT_EQ(allowed(rules, "vip"), "play");
}

TEST_F(LoginTest, ALoginCountsForItsApplicationOnly) {
    Rules rules(
        "application a { security { publish_user studio 'pass word'; } }"
        "application a/b { security { publish_user studio 'other one'; } }");
    rules.app = "a";
    const net::LoginAnswer login = rules.login(answer_for(rules, "pass word"));
    EXPECT_EQ(login.user, "studio");
    EXPECT_EQ(rules.publish(kRemote, "", login.user), "");
    rules.app = "a/b";
    EXPECT_NE(rules.publish(kRemote, "", login.user), "") << "other users, of the same name";
}

TEST(ConfigPolicyTest, LimitsOfAnApplicationGoBeforeThoseOfItsVhost) {
    Rules rules(
        "max_players 7; application live { play { queue_length 3s; } } "
        "application vip { max_players 2; }");
    const io::SocketAddress peer = io::SocketAddress::parse(kLocal).value();
    const stream::StreamKey live = rules.policy().key_of("", "live", "room");
    const stream::StreamKey vip = rules.policy().key_of("", "vip", "room");
    EXPECT_EQ(rules.policy().may_play({.key = live, .peer = peer})->max_players, 7U);
    EXPECT_EQ(rules.policy().may_play({.key = vip, .peer = peer})->max_players, 2U);
    EXPECT_EQ(rules.policy().pump_options(live)->queue_length, Seconds(3));
    EXPECT_EQ(rules.policy().pump_options(vip)->queue_length, Seconds(10));
}

}  // namespace
}  // namespace weir::app
