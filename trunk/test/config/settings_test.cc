#include "config/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "config/directives.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Settings settings_of(std::string_view text, const Environment& environment = {}) {
    ParseOutcome outcome = parse_config(text, "t.conf", environment);
    EXPECT_TRUE(outcome.ok()) << to_string(outcome.errors);
    return outcome.ok() ? outcome.config->settings : Settings{};
}

std::vector<std::string> changes(std::string_view before, std::string_view after) {
    std::vector<std::string> lines;
    for (const SettingChange& change : changes_between(settings_of(before), settings_of(after))) {
        lines.push_back(to_string(change));
    }
    return lines;
}

TEST(SettingsTest, SaysWhatIsNotTheSame) {
    EXPECT_THAT(
        changes("max_connections 5; chunk_size 200;", "chunk_size 300; log_level warn;"),
        ElementsAre("max_connections 5 -> 10000 (applied)",
                    "chunk_size 200 -> 300 (new connections)", "log_level info -> warn (applied)"));
    EXPECT_THAT(changes("", "worker_threads 3; pid a;"),
                ElementsAre("worker_threads 2 -> 3 (needs a restart)",
                            "pid (none) -> a (needs a restart)"));
    EXPECT_THAT(changes("http_api { listen 1; }", "http_api { listen 1 127.0.0.1:2; }"),
                ElementsAre("http_api listen [::]:1 -> [::]:1 127.0.0.1:2 (applied)"));
}

TEST(SettingsTest, WritingItOtherwiseIsNoChange) {
    EXPECT_THAT(changes("listen 1935; handshake_timeout 10s; play { mw_latency auto; }",
                        "handshake_timeout 10000ms; vhost __defaultVhost__ { }"),
                IsEmpty());
    EXPECT_THAT(changes("send_buffer 64k;", "send_buffer 65536;"), IsEmpty());
    EXPECT_THAT(
        changes("play { queue_length 5s; }", "vhost __defaultVhost__ { } play{queue_length 5;}"),
        IsEmpty());
}

TEST(SettingsTest, VhostsComeGoAndChange) {
    EXPECT_THAT(
        changes("vhost a { } vhost b { play { queue_length 5s; } }",
                "vhost b { play { queue_length 6s; } } vhost c { play { queue_length 7s; } }"),
        ElementsAre("vhost a -> (none) vhost=a (new connections)",
                    "vhost (none) -> c vhost=c (new connections)",
                    "play queue_length 5s -> 6s vhost=b (applied)"));
    EXPECT_THAT(changes("play { queue_length 8s; } vhost b { play { queue_length 5s; } }",
                        "play { queue_length 8s; } vhost b { }"),
                ElementsAre("play queue_length 5s -> 8s vhost=b (applied)"))
        << "what the top level says then holds";
}

TEST(SettingsTest, RulesAreComparedInTheirOrder) {
    EXPECT_THAT(changes("security { allow play all; deny publish 10.0.0.1; }",
                        "security { deny publish 10.0.0.1; allow play all; }"),
                ElementsAre("security allow play all; deny publish 10.0.0.1 -> deny publish "
                            "10.0.0.1; allow play all (new connections)"));
    EXPECT_THAT(changes("security { allow play all; }", "security { allow play all; }"), IsEmpty());
}

TEST(SettingsTest, SecretsAreComparedAndNotShown) {
    const auto with = [](std::string_view password) {
        return "rtc_server { ice_server turn:a.example user " + std::string(password) + "; }";
    };
    EXPECT_THAT(changes(with("one-password"), with("other-password")),
                ElementsAre("rtc_server ice_server turn:a.example user (secret) -> turn:a.example "
                            "user (secret) (new connections)"));
    EXPECT_THAT(dump_config(settings_of(with("one-password"))), Not(HasSubstr("one-password")));
}

// Whoever adds a directive with a key in it has to say so.
TEST(SettingsTest, DirectivesThatSoundLikeSecretsSayWhetherTheyAre) {
    for (const Directive& directive : directives()) {
        const bool is_file =
            directive.name.ends_with("_file") || directive.name == "ssl_certificate_key" ||
            directive.name == "key_frame_interval" || directive.name == "srt_pbkeylen";
        const bool is_account = directive.type == ValueType::kUser;
        const bool sounds = directive.name.find("key") != std::string_view::npos ||
                            directive.name.find("secret") != std::string_view::npos ||
                            directive.name.find("token") != std::string_view::npos ||
                            directive.name.find("password") != std::string_view::npos ||
                            directive.name == "user" || directive.name.ends_with("_user");
        EXPECT_TRUE(!sounds || is_file || is_account || directive.secret_from != kNoSecret)
            << directive.name << " needs .secret_from, or its value is shown in reports";
    }
}

TEST(SettingsTest, KeysInUrlsAreNotShown) {
    const auto changes =
        changes_between(settings_of(""), settings_of("http_hooks { on_play "
                                                     "http://h/hook?token=s3cret&a=1; }"));
    ASSERT_FALSE(changes.empty());
    for (const SettingChange& change : changes) {
        EXPECT_EQ(change.to.find("s3cret"), std::string::npos) << change.to;
    }
    EXPECT_EQ(changes.back().to, "http://h/***");
}

TEST(SettingsTest, WhatWaitsForARestartIsSaidAgain) {
    const Settings running = settings_of("worker_threads 2; max_connections 5;");
    const Settings wanted = settings_of("worker_threads 3; max_connections 6;");
    const Settings now = still_running(running, wanted);
    const std::vector<SettingChange> again = changes_between(now, wanted);
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again[0].directive, "worker_threads");
    EXPECT_EQ(again[0].from, "2");
}

TEST(SettingsTest, TheDumpMeansTheSameAndSaysWhereFrom) {
    const std::string text =
        "listen 1; http_api { enabled off; } security { deny publish all; allow play 10.0.0.0/8; "
        "}\n"
        "vhost a.example { play { mw_latency 5ms; } security { } }\n";
    const Environment environment = {{"WEIR_MAX_CONNECTIONS", "77"}};
    ParseOutcome first = parse_config(text, "t.conf", environment);
    ASSERT_TRUE(first.ok()) << to_string(first.errors);
    const std::string dump = dump_config(first.config->settings);
    EXPECT_THAT(dump, HasSubstr("# t.conf:1"));
    EXPECT_THAT(dump, HasSubstr("# default"));
    EXPECT_THAT(dump, HasSubstr("# WEIR_MAX_CONNECTIONS in the environment"));
    ParseOutcome second = parse_config(dump, "t.conf");
    ASSERT_TRUE(second.ok()) << to_string(second.errors) << dump;
    EXPECT_EQ(*first.config, *second.config) << dump;
}

TEST(SettingsTest, ApplicationsAreDumpedAndComparedUnderTheirVhost) {
    for (const char* text :
         {"max_players 9; application b/c { max_players 5; security { deny play all; } }"
          "application a { }",
          "vhost x.y { application vip { http_hooks { on_play http://h/; } } }"
          "vhost __defaultVhost__ { application 'a b' { enabled off; } }"}) {
        ParseOutcome first = parse_config(text, "t.conf");
        ASSERT_TRUE(first.ok()) << to_string(first.errors);
        const std::string dump = dump_config(first.config->settings);
        ParseOutcome second = parse_config(dump, "t.conf");
        ASSERT_TRUE(second.ok()) << to_string(second.errors) << dump;
        EXPECT_EQ(*first.config, *second.config) << dump;
    }
    EXPECT_THAT(changes("max_players 4; application a { }",
                        "max_players 4; application a { max_players 5; }"),
                ElementsAre("max_players 4 -> 5 vhost=__defaultVhost__/a (new connections)"));
    EXPECT_THAT(
        changes("vhost x { application a { max_players 4; } }", "vhost x { application b { } }"),
        ElementsAre("application x/a -> (none) vhost=x/a (new connections)",
                    "application (none) -> x/b vhost=x/b (new connections)"));
}

}  // namespace
}  // namespace weir::config
