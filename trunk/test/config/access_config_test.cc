#include "config/access_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_warnings.h"
#include "config/value_words.h"

#include "test/config/test_config.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string error_of(std::string_view text) {
    const ParseOutcome outcome = parse_config(text, "t.conf");
    EXPECT_EQ(outcome.errors.size(), 1U) << text;
    return outcome.errors.empty() ? "" : outcome.errors[0].to_string();
}

const VhostConfig& default_vhost(const Config& config) {
    return *config.find_vhost("");
}

TEST(AccessConfigTest, TheDefaultsAreThoseOfTheTable) {
    const Config config = config_of("");
    EXPECT_EQ(default_vhost(config).access, AccessConfig{})
        << "security of a vhost begins with a default-made one";
    EXPECT_EQ(config.http_api.access, ApiAccessConfig{});
    EXPECT_EQ(config.max_connections_per_ip, 0U);
    EXPECT_EQ(default_vhost(config).max_players, 0U);
    EXPECT_EQ(default_vhost(config).max_publish_bitrate, 0U);
    EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(AccessConfigTest, ReadsEverything) {
    const Config config = config_of(
        "server_name A.example b.example; server_name c.example; max_connections_per_ip 20; "
        "max_players 100; max_publish_bitrate 2500k; "
        "security { publish_key k1 k2; publish_key file:k; play_key p; publish_user studio 'a b'; "
        "jwt_secret 0123456789abcdef0123456789abcdef; jwks_file jwks.json; jwt_audience weir; "
        "jwt_actions play; satisfy any; allow_origin https://A.example:8443 *; } "
        "http_api { token read r-token; token admin file:/run/t; user read bob builder; "
        "metrics open; max_request_rate 5; allow_origin http://localhost:3000; }");
    EXPECT_THAT(config.server_names, ElementsAre("a.example", "b.example", "c.example"));
    EXPECT_EQ(config.max_connections_per_ip, 20U);
    const VhostConfig& vhost = default_vhost(config);
    EXPECT_EQ(vhost.max_players, 100U);
    EXPECT_EQ(vhost.max_publish_bitrate, 2'500'000U);
    const AccessConfig& access = vhost.access;
    EXPECT_THAT(access.publish_keys,
                ElementsAre(SecretSource{false, "k1"}, SecretSource{false, "k2"},
                            SecretSource{true, "/nowhere/k"}));
    EXPECT_THAT(access.play_keys, ElementsAre(SecretSource{false, "p"}));
    EXPECT_THAT(access.publish_users, ElementsAre(LoginConfig{"studio", {false, "a b"}}));
    EXPECT_EQ(access.jwt_secrets.size(), 1U);
    EXPECT_THAT(access.jwks_files, ElementsAre("/nowhere/jwks.json"));
    EXPECT_EQ(access.jwt_audience, "weir");
    EXPECT_TRUE(access.jwt_for_play());
    EXPECT_FALSE(access.jwt_for_publish());
    EXPECT_TRUE(access.satisfy_any);
    EXPECT_THAT(access.allow_origins, ElementsAre("https://a.example:8443", "*"));
    const ApiAccessConfig& api = config.http_api.access;
    EXPECT_THAT(api.tokens, ElementsAre(ApiTokenConfig{ApiRole::kRead, {false, "r-token"}},
                                        ApiTokenConfig{ApiRole::kAdmin, {true, "/run/t"}}));
    EXPECT_THAT(api.users, ElementsAre(ApiUserConfig{ApiRole::kRead, {"bob", {false, "builder"}}}));
    EXPECT_TRUE(api.open_metrics);
    EXPECT_EQ(api.max_request_rate, 5U);
    EXPECT_THAT(api.allow_origins, ElementsAre("http://localhost:3000"));
}

// Whatever is wrong, and wherever the secret stands.
TEST(AccessConfigTest, NoMessageShowsASecret) {
    for (const char* text :
         {"security { publish_key 's3cret key'; }", "security { jwt_secret s3cret; }",
          "security { publish_user s3cret; }", "security { publish_user a s3cret s3cret2; }",
          "security { publish_user 's3cret name' x; }", "http_api { token s3cret; }",
          "http_api { token s3cret read; }", "http_api { token read s3cret more; }",
          "http_api { user s3cret bob builder; }", "http_api { user read bob; }",
          "http_api { user read bob s3cret more; }", "security { publish_key s3cret { } }",
          "security { publish_key \"s3cret\x01\"; }"}) {
        const ParseOutcome outcome = parse_config(text, "t.conf");
        EXPECT_FALSE(outcome.ok()) << text;
        for (const Diagnostic& error : outcome.errors) {
            EXPECT_THAT(error.to_string(), Not(HasSubstr("s3cret"))) << text;
        }
    }
}

TEST(AccessConfigTest, SaysWhatWasExpected) {
    EXPECT_THAT(error_of("security { jwt_secret short; }"), HasSubstr("at least 32 bytes"));
    EXPECT_THAT(error_of("security { publish_key; }"), HasSubstr("keys, or file:PATH"));
    EXPECT_THAT(error_of("security { publish_key file:; }"), HasSubstr("keys, or file:PATH"));
    EXPECT_THAT(error_of("http_api { token reed x; }"), HasSubstr("read, operate or admin"));
    EXPECT_THAT(error_of("max_publish_bitrate 5;"), HasSubstr("a bit rate from 10k to 100g"));
    EXPECT_THAT(error_of("max_publish_bitrate 8mb;"), HasSubstr("a bit rate"));
    EXPECT_THAT(error_of("server_name http://a.example;"), HasSubstr("names of hosts"));
    EXPECT_THAT(error_of("security { allow_origin a.example; }"), HasSubstr("SCHEME://HOST"));
    EXPECT_THAT(error_of("publish_key x;"), HasSubstr("it belongs in security"));
}

TEST(AccessConfigTest, OriginsAreSchemeAndHost) {
    for (const char* good : {"*", "https://a.example", "http://localhost:3000", "http://[::1]:80",
                             "http://127.0.0.1:8080", "app://x"}) {
        EXPECT_TRUE(is_origin_pattern(good)) << good;
    }
    for (const char* bad :
         {"", "a.example", "https://", "https://a.example/", "https://a.example:0",
          "https://a.example:99999", "https://a b", "://a", "https://a.example?x"}) {
        EXPECT_FALSE(is_origin_pattern(bad)) << bad;
    }
}

TEST(ConfigWarningsTest, WarnOfAnApiThatEverybodyReaches) {
    for (const char* text : {"http_api { listen 1985; }", "http_api { listen 192.0.2.1:1985; }",
                             "http_api { listen [::]:1985; }"}) {
        EXPECT_THAT(config_warnings(config_of(text)),
                    ElementsAre(HasSubstr("asks nobody for a login")))
            << text;
    }
    for (const char* text :
         {"http_api { listen 127.0.0.1:1985; }", "http_api { listen [::1]:1985; }",
          "http_api { listen 1985; token admin a-long-token; }",
          "http_api { enabled off; listen 1985; }"}) {
        EXPECT_THAT(config_warnings(config_of(text)), IsEmpty()) << text;
    }
}

TEST(ConfigWarningsTest, WarnOfWhatCanBeGuessed) {
    EXPECT_THAT(config_warnings(config_of("security { publish_key abc; }")),
                ElementsAre(HasSubstr("can be guessed")));
    EXPECT_THAT(config_warnings(config_of("http_api { token admin abc; }")),
                ElementsAre(HasSubstr("can be guessed")));
    EXPECT_THAT(
        config_warnings(config_of("security { publish_key abcdefgh; publish_user u abcdefgh; }")),
        ElementsAre(HasSubstr("rtmp://HOST/APP?key=KEY")));
}

}  // namespace
}  // namespace weir::config
