#include "config/environment.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_doc.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Config with(std::string_view text, const Environment& environment) {
    ParseOutcome outcome = parse_config(text, "c/t.conf", environment);
    EXPECT_TRUE(outcome.ok()) << to_string(outcome.errors);
    return outcome.ok() ? *outcome.config : Config{};
}

std::string errors_of(std::string_view text, const Environment& environment) {
    return to_string(parse_config(text, "c/t.conf", environment).errors);
}

std::vector<std::string> addresses(const std::vector<ListenAddress>& list) {
    std::vector<std::string> out;
    for (const ListenAddress& listen : list) {
        out.push_back(listen.address);
    }
    return out;
}

TEST(EnvironmentTest, EachDirectiveHasOneNameAndTheDocumentationListsIt) {
    const std::string doc = config_markdown();
    std::set<std::string> seen;
    for (const EnvironmentSlot& slot : environment_slots()) {
        EXPECT_TRUE(seen.insert(slot.name).second) << slot.name;
        EXPECT_NE(doc.find("`" + slot.name + "`"), std::string::npos) << slot.name;
        // Kubernetes would have it for a service that is called weir-rtc-server-single.
        if (slot.name != "WEIR_RTC_SERVER_SINGLE_PORT") {
            EXPECT_FALSE(is_kubernetes_name(slot.name, "tcp://10.0.0.1:1935")) << slot.name;
        }
        EXPECT_EQ(find_slot(slot.name), &slot);
    }
    for (const Directive& directive : directives()) {
        const bool has_name =
            directive.type != ValueType::kVhost && directive.type != ValueType::kInclude &&
            directive.type != ValueType::kAccess && directive.type != ValueType::kBlock &&
            directive.type != ValueType::kApplication && directive.type != ValueType::kSource &&
            directive.type != ValueType::kSipUser && directive.contexts != kSourceContext &&
            directive.contexts != kSipRegisterContext && directive.name != kUnresolvedName;
        EXPECT_TRUE(!has_name || std::ranges::any_of(environment_slots(),
                                                     [&](const EnvironmentSlot& slot) {
                                                         return slot.directive == &directive;
                                                     }))
            << directive.name << " has no variable";
    }
    for (const char* name : {"WEIR_LISTEN", "WEIR_MAX_CONNECTIONS", "WEIR_HTTP_API_LISTEN",
                             "WEIR_RTC_SERVER_CANDIDATE", "WEIR_VHOST_PLAY_QUEUE_LENGTH",
                             "WEIR_VHOST_PUBLISH_CONFLICT", "WEIR_VHOST_SECURITY"}) {
        EXPECT_TRUE(seen.contains(name)) << name;
    }
}

TEST(EnvironmentTest, DefaultsAndExamplesCanBeGivenByIt) {
    for (const EnvironmentSlot& slot : environment_slots()) {
        if (slot.directive->type == ValueType::kBlock) {
            continue;
        }
        const std::string value(slot.directive->default_text.empty()
                                    ? slot.directive->example
                                    : slot.directive->default_text);
        Environment environment = {{slot.name, value}};
        if (slot.directive->name == "ssl_certificate") {  // goes with its key only
            environment.emplace_back(slot.name + "_KEY", "a.pem");
        } else if (slot.directive->name == "ssl_certificate_key") {
            environment.emplace_back(slot.name.substr(0, slot.name.size() - 4), "a.pem");
        }
        EXPECT_EQ(errors_of("", environment), "") << slot.name << "=" << value;
    }
}

TEST(EnvironmentTest, GoesBeforeTheFile) {
    const Config config = with(
        "max_connections 5; http_api { listen 1; } pid a;"
        "vhost __defaultVhost__ { play { queue_length 3s; } } vhost a { play { queue_length 4s; } }"
        "vhost b { }",
        {{"WEIR_MAX_CONNECTIONS", " 7 "},
         {"WEIR_HTTP_API_LISTEN", "127.0.0.1:2 127.0.0.1:3; 4"},
         {"WEIR_PID", "/run/a b;c"},
         {"WEIR_VHOST_PLAY_QUEUE_LENGTH", "9s"},
         {"WEIR_VHOST_PUBLISH_CONFLICT", "takeover"}});
    EXPECT_EQ(config.max_connections, 7u);
    EXPECT_EQ(config.pid, "/run/a b;c") << "one value is taken as it is";
    EXPECT_THAT(addresses(config.http_api.listen),
                ElementsAre("127.0.0.1:2", "127.0.0.1:3", "[::]:4"));
    EXPECT_EQ(config.http_api.listen[0].origin, "WEIR_HTTP_API_LISTEN in the environment");
    EXPECT_EQ(config.find_vhost("")->play.queue_length, Seconds(9));
    EXPECT_EQ(config.find_vhost("a")->play.queue_length, Seconds(4)) << "a value of its own";
    EXPECT_EQ(config.find_vhost("b")->play.queue_length, Seconds(9));
    EXPECT_EQ(config.find_vhost("b")->publish_conflict, PublishConflict::kTakeover);
}

TEST(EnvironmentTest, WhatStandsInVhostsOnlyMeansTheDefaultOne) {
    for (const char* text : {"vhost a { }", "vhost a { } vhost __defaultVhost__ { enabled on; }"}) {
        const Config config = with(text, {{"WEIR_VHOST_ENABLED", "off"}});
        EXPECT_EQ(config.find_vhost("x"), nullptr);
        EXPECT_NE(config.find_vhost("a"), nullptr);
    }
}

TEST(EnvironmentTest, RulesOfABlockAreOneVariableInTheirOrder) {
    const Environment environment = {
        {"WEIR_VHOST_SECURITY",
         "allow publish 10.0.0.0/8; deny play 10.1.0.0/16; deny publish all"}};
    for (const char* text : {"", "security { allow publish all; }",
                             "vhost __defaultVhost__ { security { deny play all; } }"}) {
        const AccessRules rules = with(text, environment).vhosts[0].security;
        ASSERT_EQ(rules.rules().size(), 3u) << text;
        EXPECT_TRUE(rules.allows(Action::kPublish, "10.2.3.4"));
        EXPECT_FALSE(rules.allows(Action::kPublish, "127.0.0.1"));
        EXPECT_FALSE(rules.allows(Action::kPlay, "10.1.3.4"));
        EXPECT_TRUE(rules.allows(Action::kPlay, "11.1.3.4"));
    }
    EXPECT_THAT(errors_of("", {{"WEIR_VHOST_SECURITY", "alow publish all"}}),
                HasSubstr("WEIR_VHOST_SECURITY in the environment: found the unknown directive "
                          "'alow'"));
}

TEST(EnvironmentTest, RulesFromTheEnvironmentReplaceKeysToo) {
    for (const std::string text :
         {"security { publish_key of-the-file; play_key of-the-file; }",
          "vhost __defaultVhost__ { security { publish_key of-the-file; satisfy any; } }"}) {
        const auto keys = [&](const Environment& environment) {
            const Config config = with(text, environment);
            for (const Setting& setting : config.settings.list) {
                EXPECT_EQ(setting.text.find("of-the-file"), std::string::npos)
                    << "what is not in force is not told: " << setting.key;
            }
            EXPECT_TRUE(config.vhosts[0].access.play_keys.empty());
            return config.vhosts[0].access.publish_keys.size();
        };
        EXPECT_EQ(keys({{"WEIR_VHOST_SECURITY", "allow publish all"}}), 0U);
        EXPECT_EQ(keys({{"WEIR_VHOST_SECURITY", "publish_key one; publish_key two three"}}), 3U);
        EXPECT_EQ(keys({{"WEIR_VHOST_SECURITY", "publish_key one"},
                        {"WEIR_VHOST_SECURITY_PUBLISH_KEY", "two; three"}}),
                  2U)
            << "the variable of the directive goes before that of the block";
    }
}

TEST(EnvironmentTest, RepeatableOnesReplaceThoseOfTheFile) {
    const Config config =
        with("rtc_server { enabled on; candidate 192.0.2.1; ice_server stun:a; }",
             {{"WEIR_RTC_SERVER_CANDIDATE", "192.0.2.2 192.0.2.3"},
              {"WEIR_RTC_SERVER_ICE_SERVER", "stun:b; turn:c user \"pass word\""}});
    EXPECT_EQ(config.rtc_server.candidates.size(), 2u);
    ASSERT_EQ(config.rtc_server.ice_servers.size(), 2u);
    EXPECT_EQ(config.rtc_server.ice_servers[1].credential, "pass word");
}

TEST(EnvironmentTest, MistakesNameTheVariable) {
    EXPECT_EQ(errors_of("", {{"WEIR_LISTEN", "x"}}),
              "WEIR_LISTEN in the environment: found 'x', expected PORT, ADDRESS:PORT or "
              "[IPV6-ADDRESS]:PORT\n");
    EXPECT_EQ(errors_of("", {{"WEIR_MAX_CONNECTIONS", " "}}), "") << "set to nothing is not set";
    EXPECT_THAT(errors_of("", {{"WEIR_LISTEN", "1 { 2"}}), HasSubstr("expected words"));
    EXPECT_THAT(errors_of("listen 7;", {{"WEIR_HTTP_API_LISTEN", "7"}}),
                HasSubstr("WEIR_HTTP_API_LISTEN in the environment"))
        << "listeners that clash";
    EXPECT_THAT(errors_of("max_connections x;", {{"WEIR_MAX_CONNECTIONS", "5"}}),
                HasSubstr("c/t.conf:1:17"))
        << "a mistake of the file stays one";
}

TEST(EnvironmentTest, UnknownNamesAreWarnedOfOnceWithTheNearest) {
    EXPECT_THAT(
        environment_warnings({{"WEIR_LISTN", "1"}, {"WEIR_CANDIDATE", "*"}, {"CANDIDATE", ""}}),
        ElementsAre("WEIR_LISTN in the environment: there is no such setting, it is "
                    "ignored; did you mean WEIR_LISTEN?"));
    EXPECT_TRUE(parse_config("", "f", {{"WEIR_BOGUS", "1"}}).ok());
    EXPECT_EQ(parse_config("", "f", {{"WEIR_BOGUS", "1"}}).warnings.size(), 1u);
    Environment many;
    for (int i = 0; i < 100; i++) {
        many.emplace_back("WEIR_QQQ" + std::to_string(i), "");
    }
    EXPECT_EQ(environment_warnings(many).size(), 21u);
}

TEST(EnvironmentTest, NamesOfKubernetesNeedOneLine) {
    const Environment environment = {
        {"WEIR_PORT", "tcp://10.0.0.1:1935"},    {"WEIR_PORT_1935_TCP", "tcp://10.0.0.1:1935"},
        {"WEIR_PORT_1935_TCP_ADDR", "10.0.0.1"}, {"WEIR_PORT_8000_UDP_PROTO", "udp"},
        {"WEIR_SERVICE_HOST", "10.0.0.1"},       {"WEIR_SERVICE_PORT", "1935"},
        {"WEIR_API_SERVICE_PORT_HTTP", "1985"},  {"WEIR_API_PORT_1985_TCP_PORT", "1985"}};
    for (const auto& [name, value] : environment) {
        EXPECT_TRUE(is_kubernetes_name(name, value)) << name;
    }
    const std::vector<std::string> warnings = environment_warnings(environment);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_THAT(warnings[0], HasSubstr("8 WEIR_ names"));
    EXPECT_FALSE(is_kubernetes_name("WEIR_PORT", "1935"));
    EXPECT_FALSE(is_kubernetes_name("WEIR_PORT_X_TCP", "1"));
}

}  // namespace
}  // namespace weir::config
