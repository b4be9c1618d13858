#include "app/access/access_data.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/app/access/test_config.h"

namespace weir::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string trouble_of(std::string_view text) {
    auto loaded = AccessData::load(config_of(text));
    EXPECT_FALSE(loaded.ok());
    return loaded.ok() ? "" : std::string(loaded.error().message());
}

TEST(AccessDataTest, ReadsSecretsOfTheTextAndOfFiles) {
    const SecretFolder folder;
    const std::string file = folder.write("keys", "first\n\nsecond key\r\nthird");
    const auto data = secrets_of(config_of(
        fmt::format("security {{ publish_key inline; publish_key file:{} other; play_key p; "
                    "publish_user studio 'a password'; }} http_api {{ token read r; user admin "
                    "alice file:{}; }} vhost a.b {{ security {{ }} }}",
                    file, file)));
    const VhostSecrets* secrets = data->find(config::kDefaultVhost);
    ASSERT_NE(secrets, nullptr);
    EXPECT_THAT(secrets->publish_keys,
                ElementsAre("inline", "first", "second key", "third", "other"));
    EXPECT_THAT(secrets->play_keys, ElementsAre("p"));
    ASSERT_EQ(secrets->publish_users.size(), 1U);
    EXPECT_THAT(secrets->publish_users[0].passwords, ElementsAre("a password"));
    ASSERT_EQ(data->api.size(), 2U);
    EXPECT_EQ(data->api[0].role, config::ApiRole::kRead);
    EXPECT_EQ(data->api[1].user, "alice");
    EXPECT_EQ(data->api[1].secrets.size(), 3U);
    EXPECT_EQ(data->files.size(), 1U) << "a file is read once";
    ASSERT_NE(data->find("a.b"), nullptr);
    EXPECT_TRUE(data->find("a.b")->publish_keys.empty()) << "security of a vhost replaces it";
    EXPECT_EQ(data->find("unknown"), nullptr);
}

TEST(AccessDataTest, SaysWhichDirectiveAndFileAreWrongAndShowsNoSecret) {
    const SecretFolder folder;
    EXPECT_THAT(trouble_of("security { publish_key file:/nowhere/key; }"),
                HasSubstr("publish_key: /nowhere/key"));
    const std::string empty = folder.write("empty", "\n\n");
    EXPECT_THAT(trouble_of(fmt::format("security {{ play_key file:{}; }}", empty)),
                HasSubstr("no secret in it"));
    const std::string binary = folder.write("binary", "s3cret\x01\n");
    const std::string text = trouble_of(fmt::format("security {{ play_key file:{}; }}", binary));
    EXPECT_THAT(text, HasSubstr("each a secret"));
    EXPECT_THAT(text, Not(HasSubstr("s3cret")));
    const std::string small = folder.write("small", "s3cret\n");
    EXPECT_THAT(trouble_of(fmt::format("security {{ jwt_secret file:{}; }}", small)),
                HasSubstr("at least 32 bytes"));
    EXPECT_THAT(trouble_of(fmt::format("security {{ jwks_file {}; }}", small)),
                HasSubstr("jwks_file " + small));
    const std::string large = folder.write("large", std::string(1 << 20, 'x'));
    EXPECT_THAT(trouble_of(fmt::format("security {{ play_key file:{}; }}", large)),
                HasSubstr("more than"));
}

TEST(AccessDataTest, ReadsTheSecretOfHooks) {
    const SecretFolder folder;
    const std::string file = folder.write("hooks", "from a file\nolder one\n");
    const auto data = secrets_of(
        config_of(fmt::format("http_hooks {{ secret file:{}; }} vhost a.b {{ http_hooks {{ secret "
                              "'in the text'; }} }}",
                              file)));
    EXPECT_EQ(data->find(config::kDefaultVhost)->hook_secret, "from a file");
    EXPECT_EQ(data->find("a.b")->hook_secret, "in the text");
    EXPECT_THAT(trouble_of("http_hooks { secret file:/nowhere/s; }"),
                HasSubstr("http_hooks secret: /nowhere/s"));
    const std::string small = folder.write("small", "tiny7.x\n");
    const std::string text = trouble_of(fmt::format("http_hooks {{ secret file:{}; }}", small));
    EXPECT_THAT(text, HasSubstr("at least 8"));
    EXPECT_THAT(text, Not(HasSubstr("tiny7")));
}

TEST(AccessDataTest, TellsWhenAFileHasChanged) {
    const SecretFolder folder;
    const std::string file = folder.write("keys", "first\n");
    const auto data =
        secrets_of(config_of(fmt::format("security {{ publish_key file:{}; }}", file)));
    EXPECT_FALSE(data->is_stale());
    folder.write("keys", "other\n");
    EXPECT_TRUE(data->is_stale());
    std::filesystem::remove(file);
    EXPECT_TRUE(data->is_stale());
}

}  // namespace
}  // namespace weir::app
