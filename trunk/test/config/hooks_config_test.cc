#include <gtest/gtest.h>

#include "config/config.h"

namespace weir::config {
namespace {

using net::HookAction;

std::vector<std::string> origins(const HttpHooksConfig& hooks, HookAction action) {
    std::vector<std::string> texts;
    for (const http::Url& url : hooks.urls_of(action)) {
        texts.push_back(url.shown());
    }
    return texts;
}

using Texts = std::vector<std::string>;

Config good(std::string_view text) {
    ParseOutcome outcome = parse_config(text, "t.conf");
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.errors.front().to_string());
    return outcome.ok() ? *outcome.config : Config{};
}

std::string only_error(std::string_view text) {
    ParseOutcome outcome = parse_config(text, "t.conf");
    EXPECT_EQ(outcome.errors.size(), 1U) << text;
    return outcome.errors.empty() ? "" : outcome.errors.front().to_string();
}

TEST(HooksConfigTest, NobodyIsAskedByDefault) {
    const Config config = good("");
    const HttpHooksConfig& hooks = config.find_vhost("")->http_hooks;
    for (size_t i = 0; i < net::kHookActions; i++) {
        EXPECT_FALSE(hooks.has(static_cast<HookAction>(i)));
    }
    EXPECT_EQ(hooks.timeout, Seconds(5));
    EXPECT_EQ(hooks.retry, Seconds(60));
    EXPECT_FALSE(hooks.allow_on_error);
    EXPECT_TRUE(hooks.secret.text.empty());
}

TEST(HooksConfigTest, TakesWhatSrsTakes) {
    const Config config = good(
        "vhost __defaultVhost__ { http_hooks {\n"
        "enabled on;\n"
        "on_connect http://127.0.0.1:8085/api/v1/clients http://localhost:8085/api/v1/clients;\n"
        "on_close http://127.0.0.1:8085/a;\n"
        "on_close http://127.0.0.1:8085/b;\n"
        "on_publish https://h/p; on_unpublish https://h/u; on_play https://h/y; on_stop "
        "https://h/s;\n"
        "timeout 500ms; retry 0; on_error allow; secret \"with spaces; and more\"; } }");
    const HttpHooksConfig& hooks = config.find_vhost("any")->http_hooks;
    EXPECT_EQ(
        origins(hooks, HookAction::kConnect),
        (Texts{"http://127.0.0.1:8085/api/v1/clients", "http://localhost:8085/api/v1/clients"}));
    EXPECT_EQ(origins(hooks, HookAction::kClose),
              (Texts{"http://127.0.0.1:8085/a", "http://127.0.0.1:8085/b"}));
    EXPECT_TRUE(hooks.has(HookAction::kStop));
    EXPECT_EQ(hooks.timeout, Millis(500));
    EXPECT_EQ(hooks.retry, Millis(0));
    EXPECT_TRUE(hooks.allow_on_error);
    EXPECT_EQ(hooks.secret.text, "with spaces; and more");
}

TEST(HooksConfigTest, AVhostInheritsAndReplacesEachDirective) {
    const Config config = good(
        "vhost own.test { http_hooks { on_play http://own/; } }\n"
        "vhost off.test { http_hooks { enabled off; } }\n"
        "http_hooks { on_play http://all/; on_stop http://all/; secret 12345678; }");
    const HttpHooksConfig& own = config.find_vhost("own.test")->http_hooks;
    EXPECT_EQ(origins(own, HookAction::kPlay), Texts{"http://own/"});
    EXPECT_EQ(origins(own, HookAction::kStop), Texts{"http://all/"});
    EXPECT_EQ(own.secret.text, "12345678");
    EXPECT_FALSE(config.find_vhost("off.test")->http_hooks.has(HookAction::kPlay));
    EXPECT_TRUE(config.find_vhost("other.test")->http_hooks.has(HookAction::kPlay));
}

TEST(HooksConfigTest, SaysWhatIsWrongWithoutShowingSecrets) {
    std::string error = only_error("http_hooks { secret short; }");
    EXPECT_EQ(error,
              "t.conf:1:21: found a text of 5 characters, expected a text of 8 to 256 "
              "characters, or file:PATH");
    EXPECT_EQ(good("http_hooks { secret file:keys/h; }").find_vhost("")->http_hooks.secret,
              (SecretSource{true, "keys/h"}));
    error = only_error("http_hooks { on_play ftp://secret/; }");
    EXPECT_EQ(error,
              "t.conf:1:22: found no URL of a server, expected http://HOST[:PORT][/PATH] or "
              "https://HOST[:PORT][/PATH]");
    error = only_error("http_hooks { on_play http://me:secret@h/; }");
    EXPECT_EQ(error.find("secret"), std::string::npos);
    error = only_error("http_hooks { on_error ignore; }");
    EXPECT_NE(error.find("refuse or allow"), std::string::npos) << error;
    error = only_error("http_hooks { on_pley http://h/; }");
    EXPECT_NE(error.find("did you mean 'on_play'"), std::string::npos) << error;
    error = only_error("http_hooks { timeout 0; }");
    EXPECT_NE(error.find("100ms to 1m"), std::string::npos) << error;
}

}  // namespace
}  // namespace weir::config
