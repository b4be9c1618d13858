#include "config/config.h"

#include <cstdio>
#include <fstream>

#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/config_parser.h"

namespace weir::config {
namespace {

Config good(std::string_view text, std::string_view file = "conf/t.conf") {
    ParseOutcome outcome = parse_config(text, file);
    EXPECT_TRUE(outcome.ok()) << to_string(outcome.errors);
    return outcome.ok() ? *outcome.config : Config{};
}

std::vector<std::string> errors_of(std::string_view text) {
    ParseOutcome outcome = parse_config(text, "t.conf");
    EXPECT_EQ(outcome.ok(), outcome.errors.empty());
    std::vector<std::string> out;
    for (const Diagnostic& error : outcome.errors) {
        out.push_back(error.to_string());
    }
    return out;
}

std::string only_error(std::string_view text) {
    std::vector<std::string> errors = errors_of(text);
    EXPECT_EQ(errors.size(), 1u) << text;
    return errors.empty() ? "" : errors[0];
}

std::vector<std::string> addresses(const std::vector<ListenAddress>& list) {
    std::vector<std::string> out;
    for (const ListenAddress& listen : list) {
        out.push_back(listen.address);
    }
    return out;
}

using testing::HasSubstr;
using Texts = std::vector<std::string>;

TEST(ConfigTest, AnEmptyFileGivesTheDefaultsOfTheDesign) {
    Config config = good("");
    EXPECT_EQ(addresses(config.listen), (Texts{"[::]:1935"}));
    EXPECT_EQ(config.max_connections, 10000u);
    EXPECT_EQ(config.chunk_size, 60000u);
    EXPECT_EQ(config.worker_threads, 2u);
    EXPECT_EQ(config.log_level, log::Level::kInfo);
    EXPECT_EQ(config.pid, "");
    EXPECT_EQ(config.handshake_timeout, Seconds(10));
    EXPECT_TRUE(config.http_server.enabled);
    EXPECT_EQ(addresses(config.http_server.listen), (Texts{"[::]:8080"}));
    EXPECT_EQ(config.http_server.dir, "objs/www");
    EXPECT_TRUE(config.http_api.enabled);
    EXPECT_EQ(addresses(config.http_api.listen), (Texts{"127.0.0.1:1985"}));
}

TEST(ConfigTest, AnEmptyFileHasADefaultVhostWithTheDefaultsOfTheDesign) {
    Config config = good("");
    ASSERT_EQ(config.vhosts.size(), 1u);
    const VhostConfig& vhost = config.vhosts[0];
    EXPECT_EQ(vhost.name, kDefaultVhost);
    EXPECT_TRUE(vhost.enabled);
    EXPECT_EQ(vhost.publish_conflict, PublishConflict::kRefuse);
    EXPECT_EQ(vhost.play.mw_latency, std::nullopt);
    EXPECT_EQ(vhost.play.gop_cache_max_size, 32u << 20);
    EXPECT_EQ(vhost.play.queue_length, Seconds(10));
    EXPECT_EQ(vhost.play.queue_size, 16u << 20);
    EXPECT_EQ(vhost.play.wait_publisher, Seconds(30));
    EXPECT_EQ(vhost.publish.firstpkt_timeout, Seconds(20));
    EXPECT_EQ(vhost.publish.normal_timeout, Seconds(10));
    EXPECT_FALSE(vhost.publish.publisher_clock);
    EXPECT_EQ(vhost.write_stall_timeout, Seconds(20));
    EXPECT_EQ(vhost.send_buffer, 512u << 10);
    EXPECT_FALSE(vhost.security.allows(Action::kPublish, "203.0.113.9"));
    EXPECT_TRUE(vhost.security.allows(Action::kPlay, "203.0.113.9"));
}

TEST(ConfigTest, EveryDirectiveReachesItsPlace) {
    Config config = good(R"(
    listen 1 127.0.0.1:2; listen [::1]:3;
    max_connections 5; chunk_size 4096; worker_threads 3; log_level warn; pid /run/w.pid; handshake_timeout 3s;
    http_server { enabled off; listen 8081; dir /srv; }
    http_api { enabled off; listen 8082 8083; }
    vhost __defaultVhost__ {
      enabled on; publish_conflict takeover; write_stall_timeout 4s; send_buffer 64k;
      security { allow publish all; deny play 10.0.0.0/8; }
      play { mw_latency 0; gop_cache_max_size 1m; queue_length 5s; queue_size 2m; wait_publisher 0; }
      publish { firstpkt_timeout 6000; normal_timeout 7s; publisher_clock on; }
    })");
    EXPECT_EQ(addresses(config.listen), (Texts{"[::]:1", "127.0.0.1:2", "[::1]:3"}));
    EXPECT_EQ(config.max_connections, 5u);
    EXPECT_EQ(config.chunk_size, 4096u);
    EXPECT_EQ(config.worker_threads, 3u);
    EXPECT_EQ(config.log_level, log::Level::kWarn);
    EXPECT_EQ(config.pid, "/run/w.pid");
    EXPECT_EQ(config.handshake_timeout, Seconds(3));
    EXPECT_FALSE(config.http_server.enabled);
    EXPECT_EQ(config.http_server.dir, "/srv");
    EXPECT_EQ(addresses(config.http_server.listen), (Texts{"[::]:8081"}));
    EXPECT_FALSE(config.http_api.enabled);
    EXPECT_EQ(addresses(config.http_api.listen), (Texts{"[::]:8082", "[::]:8083"}));
    const VhostConfig& vhost = *config.find_vhost("");
    EXPECT_EQ(vhost.publish_conflict, PublishConflict::kTakeover);
    EXPECT_EQ(vhost.write_stall_timeout, Seconds(4));
    EXPECT_EQ(vhost.send_buffer, 64u << 10);
    EXPECT_EQ(vhost.play, (PlayConfig{Millis(0), 1u << 20, Seconds(5), 2u << 20, Millis(0)}));
    EXPECT_EQ(vhost.publish, (PublishConfig{Seconds(6), Seconds(7), true}));
    EXPECT_TRUE(vhost.security.allows(Action::kPublish, "203.0.113.9"));
    EXPECT_FALSE(vhost.security.allows(Action::kPlay, "10.9.9.9"));
}

TEST(ConfigTest, VhostsInheritFromTheTopLevelWhereverItStands) {
    Config config = good(R"(
    vhost a { play { queue_length 3s; } }
    vhost b { security { deny play all; } publish_conflict refuse; }
    play { queue_length 7s; mw_latency 350; }
    security { allow publish all; }
    publish_conflict takeover;)");
    const VhostConfig& a = *config.find_vhost("a");
    EXPECT_EQ(a.play.queue_length, Seconds(3));
    EXPECT_EQ(a.play.mw_latency, Millis(350));
    EXPECT_EQ(a.publish_conflict, PublishConflict::kTakeover);
    EXPECT_TRUE(a.security.allows(Action::kPublish, "203.0.113.9"));
    const VhostConfig& b = *config.find_vhost("b");
    EXPECT_EQ(b.play.queue_length, Seconds(7));
    EXPECT_EQ(b.publish_conflict, PublishConflict::kRefuse);
    EXPECT_FALSE(b.security.allows(Action::kPublish, "203.0.113.9"))
        << "rules of a vhost replace those above";
    EXPECT_EQ(config.find_vhost("other")->play.queue_length, Seconds(7));
}

TEST(ConfigTest, FindsVhostsInAnyCaseAndFallsBackToTheDefault) {
    Config config = good("vhost Live.Example { } vhost off.example { enabled off; }");
    EXPECT_EQ(config.find_vhost("LIVE.example")->name, "live.example");
    EXPECT_EQ(config.find_vhost("other")->name, kDefaultVhost);
    EXPECT_EQ(config.find_vhost("")->name, kDefaultVhost);
    EXPECT_EQ(config.find_vhost("off.example"), nullptr);
}

TEST(ConfigTest, ADisabledDefaultVhostRefusesUnknownNamesOnly) {
    Config config = good("vhost __defaultVhost__ { enabled off; } vhost a { }");
    EXPECT_EQ(config.find_vhost("other"), nullptr);
    EXPECT_NE(config.find_vhost("a"), nullptr);
}

TEST(ConfigTest, ReportsAllErrorsOfAFileWithTheirPlaces) {
    std::string_view text =
        "lisen 1935;\n"
        "chunk_size 100;\n"
        "log_level inof;\n"
        "worker_threads 2\n"
        "http_server {\n"
        "    listen 1936 99999;\n"
        "    dir;\n"
        "    play { }\n"
        "}\n"
        "vhost a {\n"
        "\tsecurity { allow record all; }\n"
        "    play { mw_latency 6s; }\n"
        "    max_connections { 3; }\n"
        "    publish_conflict \"take;\n"
        "}\n"
        "}\n"
        "vhost b {";
    EXPECT_EQ(
        errors_of(text),
        (Texts{
            "t.conf:1:1: found the unknown directive 'lisen', expected a directive of the top "
            "level; did you mean "
            "'listen'?",
            "t.conf:2:12: found '100', expected a number from 128 to 16777215",
            "t.conf:3:11: found 'inof', expected debug, info, warn or error; did you mean 'info'?",
            "t.conf:4:17: found 'http_server' on line 5, expected ';' at the end of "
            "'worker_threads'",
            "t.conf:6:17: found '99999', expected PORT, ADDRESS:PORT or [IPV6-ADDRESS]:PORT",
            "t.conf:7:8: found no value for dir, expected a path",
            "t.conf:8:5: found 'play' in http_server, but it belongs in the top level or vhost or "
            "application",
            "t.conf:11:19: found 'record', expected publish or play",
            "t.conf:12:23: found '6s', expected auto or a duration from 0 to 5s (with ms, s, m or "
            "h; a bare "
            "number counts milliseconds)",
            "t.conf:13:5: found 'max_connections' in vhost, but it belongs in the top level or "
            "srt_server",
            "t.conf:14:22: found no closing \" before the end of the line",
            "t.conf:16:1: found '}', but no block is open here",
            "t.conf:17:1: found no '}' for the block 'vhost' before the end of the file",
        }));
}

TEST(ConfigTest, NamesTheNearestDirectiveOrWhatThereIs) {
    EXPECT_EQ(only_error("http_api { lisen 3; }"),
              "t.conf:1:12: found the unknown directive 'lisen', expected a directive of http_api; "
              "did you mean "
              "'listen'?");
    EXPECT_EQ(only_error("publish { painting on; }"),
              "t.conf:1:11: found the unknown directive 'painting', expected a directive of "
              "publish (firstpkt_timeout, "
              "normal_timeout, publisher_clock)");
    EXPECT_EQ(
        only_error("publish { queue_lenght 3; }"),
        "t.conf:1:11: found the unknown directive 'queue_lenght', expected a directive of publish "
        "(firstpkt_timeout, normal_timeout, publisher_clock); did you mean 'queue_length' of "
        "play?");
}

TEST(ConfigTest, DoesNotListWhatNobodyReads) {
    EXPECT_EQ(only_error("painting on;"),
              "t.conf:1:1: found the unknown directive 'painting', expected a directive of the top "
              "level (weir.conf(5) lists them)");
}

TEST(ConfigTest, ReportsWhatIsGivenTwice) {
    EXPECT_EQ(only_error("chunk_size 200;\nchunk_size 300;"),
              "t.conf:2:1: found a second chunk_size, the first one is on line 1; keep one");
    EXPECT_EQ(only_error("vhost a { }\nvhost A { }"),
              "t.conf:2:7: found a second vhost a, the first one is on line 1; put all of it "
              "into one");
    EXPECT_EQ(only_error("play { }\nplay { }"),
              "t.conf:2:1: found a second play, the first one is on line 1; keep one");
    EXPECT_TRUE(errors_of("play { } vhost a { play { } }").empty());
}

TEST(ConfigTest, ReportsBlocksThatAreMissingOrTooMuch) {
    EXPECT_EQ(only_error("play;"), "t.conf:1:5: found ';', but play is a block; expected '{'");
    EXPECT_EQ(only_error("chunk_size { }"),
              "t.conf:1:12: found '{', but chunk_size takes no block; expected a number from 128 "
              "to 16777215");
    EXPECT_EQ(only_error("vhost { }"),
              "t.conf:1:7: found no value for vhost, expected the name of one virtual host");
}

TEST(ConfigTest, ReportsListenersThatCannotLiveSideBySide) {
    EXPECT_EQ(only_error("listen 1935;\nhttp_server { listen 127.0.0.1:1935; }"),
              "t.conf:2:22: found 127.0.0.1:1935, which listen in t.conf:1 already takes with "
              "[::]:1935 ([::] "
              "takes IPv4 as well); choose another port");
    EXPECT_EQ(only_error("listen 10.0.0.1:8080;"),
              "t.conf:1:8: found 10.0.0.1:8080, which http_server listen (default) already takes "
              "with [::]:8080 "
              "([::] takes IPv4 as well); choose another port");
    EXPECT_EQ(
        only_error("listen 10.0.0.1:1 10.0.0.1:1;"),
        "t.conf:1:19: found 10.0.0.1:1, which listen in t.conf:1 already takes with 10.0.0.1:1; "
        "choose another port");
}

TEST(ConfigTest, DisabledServersTakeNoPort) {
    EXPECT_TRUE(errors_of("listen 8080; http_server { enabled off; }").empty());
    EXPECT_TRUE(errors_of("listen 1985; http_api { enabled off; }").empty());
    EXPECT_TRUE(errors_of("listen 0 0; http_server { listen 0; }").empty());
}

TEST(ConfigTest, RelativePathsStartAtTheFolderOfTheFile) {
    std::string_view text = "http_server { dir www; } pid run/w.pid;";
    EXPECT_EQ(good(text, "/etc/weir/weir.conf").http_server.dir, "/etc/weir/www");
    EXPECT_EQ(good(text, "/etc/weir/weir.conf").pid, "/etc/weir/run/w.pid");
    EXPECT_EQ(good(text, "weir.conf").http_server.dir, "www");
    EXPECT_EQ(good(text, "weir.conf").folder, ".");
    EXPECT_EQ(good("", "conf/weir.conf").http_server.dir, "objs/www");
}

TEST(ConfigTest, ConfigurationsCompareByMeaning) {
    EXPECT_EQ(good("listen 1935;"), good("\n\n# the same\nlisten *:1935;"));
    EXPECT_NE(good("listen 1935;"), good("listen 1936;"));
    EXPECT_NE(good("play { queue_length 3s; }"), good("play { queue_length 4s; }"));
}

TEST(ConfigTest, BoundsTheSizeOfAFile) {
    EXPECT_TRUE(parse_config(std::string(kMaxConfigBytes, ' '), "t.conf").ok());
    EXPECT_EQ(only_error(std::string(kMaxConfigBytes + 1, ' ')),
              "t.conf: found more than 1048576 bytes, which is more than a configuration may have");
}

TEST(ConfigTest, BoundsTheNumberOfReportedErrors) {
    std::string text;
    for (int i = 0; i < 500; i++) {
        text += "chunk 1;\n";
    }
    ParseOutcome outcome = parse_config(text, "t.conf");
    ASSERT_EQ(outcome.errors.size(), kMaxDiagnostics);
    EXPECT_EQ(outcome.errors.back().to_string(), "t.conf: 401 more errors are not listed");
}

TEST(ConfigTest, SurvivesGarbage) {
    uint32_t state = 1;
    constexpr std::string_view kAlphabet("listen 1935;{}\"'\\#\n\t play\0\x80\xff", 28);
    for (int round = 0; round < 2000; round++) {
        std::string text;
        for (int i = 0; i < 80; i++) {
            state = state * 1664525 + 1013904223;
            text.push_back(kAlphabet[(state >> 16) % kAlphabet.size()]);
        }
        ParseOutcome outcome = parse_config(text, "t.conf");
        EXPECT_EQ(outcome.ok(), outcome.errors.empty());
    }
}

TEST(ConfigTest, AnyPrefixOfAFileIsEitherGoodOrReported) {
    std::string_view text =
        "listen 1 [::1]:2; vhost a { security { allow publish 10.0.0.0/8; } play { mw_latency "
        "auto; } }";
    for (size_t size = 0; size <= text.size(); size++) {
        ParseOutcome outcome = parse_config(text.substr(0, size), "t.conf");
        EXPECT_EQ(outcome.ok(), outcome.errors.empty()) << text.substr(0, size);
    }
    EXPECT_TRUE(parse_config(text, "t.conf").ok());
}

TEST(LoadConfigTest, ReadsAFile) {
    std::string path = testing::TempDir() + fmt::format("weir_config_test_{}.conf", getpid());
    std::ofstream(path) << "chunk_size 4096;";
    ParseOutcome outcome = load_config(path);
    std::remove(path.c_str());
    ASSERT_TRUE(outcome.ok()) << to_string(outcome.errors);
    EXPECT_EQ(outcome.config->chunk_size, 4096u);
    EXPECT_EQ(outcome.config->file, path);
}

TEST(LoadConfigTest, SaysWhyAFileCannotBeRead) {
    ParseOutcome missing = load_config("/nonexistent/weir.conf");
    EXPECT_FALSE(missing.ok());
    EXPECT_EQ(to_string(missing.errors),
              "/nonexistent/weir.conf: cannot be opened: No such file or directory\n");
    ParseOutcome folder = load_config("/tmp");
    EXPECT_FALSE(folder.ok());
    EXPECT_EQ(to_string(folder.errors), "/tmp: cannot be read: Is a directory\n");
}

TEST(ConfigApplicationTest, MistakesAreSaid) {
    const auto said = [](std::string_view text) {
        return to_string(parse_config(text, "t.conf").errors);
    };
    EXPECT_THAT(said("application a { }\napplication a { }"),
                HasSubstr("t.conf:2:13: found a second application a, the first one is on line 1"));
    EXPECT_THAT(said("application a { } vhost b { }"), HasSubstr("expected it in the vhost"));
    EXPECT_THAT(said("application a { application b { } }"),
                HasSubstr("found 'application' in application, but it belongs in"));
    EXPECT_THAT(said("application a { listen 1; }"), HasSubstr("but it belongs in"));
    EXPECT_THAT(said("application a { nothing 1; }"), HasSubstr("a directive of application"));
    for (const char* name : {"/a", "a/", "a//b", "a?b", "''", "\"a\\nb\""}) {
        EXPECT_THAT(said(std::string("application ") + name + " { }"),
                    HasSubstr("expected the name of an application"))
            << name;
    }
    EXPECT_EQ(said("vhost a { application x { } } vhost b { application x { } }"), "");
    EXPECT_EQ(said("application X { } application x { }"), "") << "two applications";
}

TEST(ConfigApplicationTest, WhatItDoesNotSayIsAsInItsVhostWhereverThatStands) {
    const ParseOutcome outcome = parse_config(
        "application a { max_players 3; http_hooks { timeout 3s; } }"
        "security { allow publish 10.0.0.1; } http_hooks { on_play http://h/; }",
        "t.conf", {{"WEIR_VHOST_PLAY_WAIT_PUBLISHER", "7s"}});
    ASSERT_TRUE(outcome.ok()) << to_string(outcome.errors);
    const VhostConfig& a = *outcome.config->find_settings("any", "a");
    EXPECT_EQ(a.section(), "__defaultVhost__/a");
    EXPECT_TRUE(a.security.allows(Action::kPublish, "10.0.0.1"));
    EXPECT_EQ(a.max_players, 3U);
    EXPECT_EQ(a.http_hooks.timeout, Seconds(3));
    EXPECT_EQ(a.http_hooks.urls_of(net::HookAction::kPlay).size(), 1U);
    EXPECT_EQ(a.play.wait_publisher, Seconds(7)) << "of the environment";
}

TEST(ConfigTest, SomethingToDecideIsRefusedWithItsText) {
    const auto said = [](std::string_view text) {
        return to_string(parse_config(text, "t.conf").errors);
    };
    for (const char* text :
         {"unresolved \"who may play?\";", "vhost a { unresolved 'who may play?'; }",
          "application a { unresolved 'who may play?'; }"}) {
        EXPECT_THAT(said(text), HasSubstr("found something to decide: who may play?")) << text;
    }
}

TEST(ConfigTest, FilesOfOtherServersGetAHint) {
    const auto hint = [](std::string_view text) { return parse_config(text, "t.conf").hint; };
    EXPECT_THAT(hint("rtmp { server { listen 1935; } }"),
                HasSubstr("nginx with its RTMP module: \"weir --explain t.conf\""));
    EXPECT_THAT(hint("daemon off;"), HasSubstr("of SRS"));
    EXPECT_THAT(hint("vhost a { http_remux { enabled on; } }"), HasSubstr("of SRS"));
    EXPECT_EQ(hint("vhost a { hls { } }"), "") << "one of ours, with a wish";
    EXPECT_EQ(hint("listen 1935;"), "");
}

TEST(ConfigTest, WhatOtherServersHaveIsSaidInTheWordsOfThisOne) {
    for (const auto& [text, what] :
         {std::pair("vhost a { dash { } }", "'dash': here one writes hls { }: every stream has"),
          {"dvr { }", "here one writes record { enabled on; path FOLDER; }"},
          {"record_path /x;", "here one writes record { path FOLDER; }"},
          {"record_notify on;", "that setting of recording (see the block record) is not in"},
          {"application a { push rtmp://h/x; }", "here one writes forward URL;"},
          {"ingest { }", "here one writes source URL; (RTMP, HTTP-FLV, RTSP, WebRTC,"},
          {"stream_caster { }", "is not in this version"},
          {"hls_path /x;", "here one writes hls { path FOLDER; }"},
          {"vhost a { hls { hls_window 60; } }", "here one writes hls { window 3; }"},
          {"hls_fragment 3s;", "here one writes hls { fragment 2s; }"},
          {"hls_nested on;", "that setting of HLS (see the block hls) is not in this version"},
          {"transcode_x;", "here one writes exec_push PROGRAM ...;"},
          {"exec ffmpeg;", "here one writes exec_push PROGRAM ...;"},
          {"exec_publish ffmpeg;", "here one writes exec_push PROGRAM ...;"},
          {"http_api { crossdomain on; }",
           "here one writes http_api { allow_origin SCHEME://HOST; }"},
          {"http_server { crossdomain on; }", "for media it is always on, so leave the line out"},
          {"exec_record_done x;", "starting programs for that event"}}) {
        EXPECT_THAT(to_string(parse_config(text, "t.conf").errors), HasSubstr(what)) << text;
    }
    EXPECT_THAT(to_string(parse_config("recorded on;", "t.conf").errors),
                HasSubstr("unknown directive"));
}

TEST(ConfigTest, TheUserMayHaveAGroup) {
    const auto user = [](std::string_view text) { return parse_config(text, "t.conf").config; };
    EXPECT_EQ(user("user weir;")->user, (UserConfig{"weir", ""}));
    EXPECT_EQ(user("user weir www-data;")->user, (UserConfig{"weir", "www-data"}));
    EXPECT_EQ(user("")->user, UserConfig{});
    EXPECT_FALSE(user("user a b c;"));
    EXPECT_FALSE(user("user 'a b';"));
    EXPECT_FALSE(user("user -x;"));
}

}  // namespace
}  // namespace weir::config
