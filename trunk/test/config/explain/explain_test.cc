#include "config/explain/explain.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "config/explain/convert.h"
#include "config/explain/explainer.h"

#include "test/support/source_file.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view kSrs = R"(listen 1935 [::1]:1936;
max_connections 500;
srs_log_level trace;
daemon off;
inotify_auto_reload on;
http_api { enabled on; listen 1985; auth { enabled on; username u; password hidden-word; } }
http_server { enabled off; dir "./a b"; }
rtc_server { enabled on; listen 8000; candidate $CANDIDATE; protocol udp; }
rtsp_server { enabled on; listen 8554; }
vhost __defaultVhost__ {
    rtc { enabled on; }
    rtsp { enabled on; rtmp_to_rtsp on; }
    dvr { enabled on; dvr_path ./a.flv; }
    dash { enabled on; dash_path ./a; }
    play { gop_cache off; queue_length 2.5; mw_latency 350; mw_msgs 8; }
    publish { firstpkt_timeout 20000; }
}
vhost A.example {
    rtc { enabled on; }
    rtsp { enabled on; }
    security { enabled on; deny publish 10.0.0.1; allow publish all; }
}
)";

Explained of(std::string_view text, std::optional<ForeignServer> server = std::nullopt) {
    Explained done = explain(text, "their.conf", server);
    EXPECT_TRUE(done.errors.empty()) << to_string(done.errors);
    return done;
}

Config config_of(const Explained& done) {
    ParseOutcome outcome = parse_config(done.config, "c/t.conf");
    EXPECT_TRUE(outcome.ok()) << done.config << to_string(outcome.errors);
    return outcome.ok() ? *outcome.config : Config{};
}

TEST(ExplainTest, SrsBecomesAConfigurationThatMeansTheSame) {
    const Explained done = of(kSrs);
    EXPECT_THAT(done.decisions, IsEmpty());
    const Config config = config_of(done);
    EXPECT_EQ(config.listen.size(), 2u);
    EXPECT_EQ(config.max_connections, 500u);
    EXPECT_EQ(config.log_level, log::Level::kInfo);
    EXPECT_TRUE(config.config_watch);
    EXPECT_FALSE(config.http_server.enabled);
    EXPECT_EQ(config.http_server.dir, "c/a b");
    EXPECT_EQ(config.http_api.listen[0].address, "127.0.0.1:1985") << "safe at first";
    EXPECT_EQ(config.http_api.access.users.at(0).login.password.text, "hidden-word");
    EXPECT_TRUE(config.rtc_server.enabled);
    EXPECT_FALSE(config.rtc_server.tcp);
    EXPECT_TRUE(config.rtc_server.candidates.empty());
    EXPECT_TRUE(config.rtsp_server.enabled);
    EXPECT_EQ(config.rtsp_server.listen.at(0).address, "0.0.0.0:8554") << "of IPv4, as there";
    const VhostConfig* vhost = config.find_vhost("");
    EXPECT_EQ(vhost->play.queue_length, Millis(2500));
    EXPECT_EQ(vhost->play.mw_latency, Millis(350));
    EXPECT_EQ(vhost->publish.firstpkt_timeout, Seconds(20));
    const VhostConfig* other = config.find_vhost("a.example");
    EXPECT_FALSE(other->security.allows(Action::kPublish, "10.0.0.1"));
    EXPECT_TRUE(other->security.allows(Action::kPublish, "10.0.0.2"));
    EXPECT_FALSE(vhost->security.allows(Action::kPublish, "10.0.0.2"));
}

TEST(ExplainTest, EachLineIsTold) {
    const std::string text = of(kSrs).text;
    EXPECT_TRUE(text.starts_with("All that restricted access is taken over"));
    EXPECT_THAT(text, HasSubstr("their.conf is a configuration of SRS."));
    EXPECT_THAT(text,
                HasSubstr("their.conf:2: max_connections 500: the same: max_connections 500;"));
    EXPECT_THAT(text, HasSubstr("their.conf:4: daemon off: needs no directive here."));
    EXPECT_THAT(
        text,
        HasSubstr(
            "dash enabled on: needs no directive here. Every stream has it at /APP/STREAM.mpd"));
    EXPECT_THAT(text, HasSubstr("dvr { }: becomes record { enabled on; }"));
    EXPECT_THAT(text,
                HasSubstr("play queue_length 2.5: becomes play { queue_length 2500ms; } (Who"));
    EXPECT_THAT(text, HasSubstr("Publishing is allowed from this machine only"));
    EXPECT_THAT(text, Not(HasSubstr("hidden-word")));
}

// The result holds what it needs; what people read about it does not.
TEST(ExplainTest, SecretsAreShownNowhereButWhereTheyAreNeeded) {
    const Explained nginx =
        of("rtmp { server { listen 1935; application live { live on;\n"
           "push rtmp://a.example/live2/one-secret; on_play http://h/hook?token=two-secret&a=b;\n"
           "exec ffmpeg -i rtmp://x/y?k=one-secret; pull rtmp://u:one-secret@h/x; } } }");
    EXPECT_THAT(nginx.text, Not(HasSubstr("-secret")));
    EXPECT_THAT(nginx.text, HasSubstr("push rtmp://a.example/***"));
    EXPECT_THAT(nginx.config, HasSubstr("forward rtmp://a.example/live2/one-secret;"));
    EXPECT_THAT(nginx.config, HasSubstr("two-secret"));
    EXPECT_THAT(nginx.config, HasSubstr("THIS FILE HOLDS SECRETS"));
    const Explained srs = of(
        "listen 1935; http_api { auth { enabled on; username u; password a;b; } }\n"
        "vhost __defaultVhost__ { forward { enabled on; destination rtmp://h/live/one-secret; }\n"
        "bandcheck { enabled on; key one-secret; } ingest i { url rtmp://h/one-secret; } }",
        ForeignServer::kSrs);
    EXPECT_THAT(srs.text, Not(HasSubstr("one-secret")));
    EXPECT_THAT(of(kSrs).config, HasSubstr("hidden-word"));
    EXPECT_THAT(of(kSrs).config, HasSubstr("THIS FILE HOLDS SECRETS"));
}

TEST(ExplainTest, SecretsWithoutASchemeAreHiddenToo) {
    for (const char* line :
         {"push a.example/live2/one-secret;", "push a.example app=live playpath=one-secret;",
          "push rtmp://a.example app=live2/one-secret name=one-secret;",
          "pull u:one-secret@h/live;", "pull rtmp://u:one-secret/x@h/live;",
          "pull h/live@one-secret;", "push a.example/?k=rtmp://one-secret;",
          "on_update http://h/one-secret?x=one-secret;", "on_update h/one-secret;",
          "on_play ftp://h/one-secret;"}) {
        const Explained done =
            of(fmt::format(
                   "rtmp {{ server {{ listen 1935; application live {{ live on; {} }} }} }}", line),
               ForeignServer::kNginxRtmp);
        EXPECT_THAT(done.text, Not(HasSubstr("one-secret"))) << line;
        const bool holds = done.config.find("one-secret") != std::string::npos;
        EXPECT_TRUE(!holds || done.config.find("THIS FILE HOLDS SECRETS") != std::string::npos)
            << line;
    }
    const Explained hook = of(
        "rtmp { server { listen 1935; application live { live on; on_play http://h/one-secret; } } "
        "}");
    EXPECT_THAT(hook.text, Not(HasSubstr("one-secret")));
    EXPECT_THAT(hook.config, HasSubstr("on_play http://h/one-secret;"));
    EXPECT_THAT(hook.config, HasSubstr("THIS FILE HOLDS SECRETS"));
    EXPECT_EQ(shown_word("a.example:1936/live"), "a.example:1936/***");
    EXPECT_EQ(shown_word("rtmp://u:p@h"), "rtmp://***@h");
    EXPECT_EQ(shown_word("app=live"), "app=live");
    EXPECT_EQ(shown_word("127.0.0.1:1935"), "127.0.0.1:1935");
}

// Whatever is redirected into a file is no configuration that lets everybody in.
TEST(ExplainTest, WhatCouldNotBeExplainedIsRefused) {
    for (const std::string why : {"f:1:1: \"odd\"\nf:2:1: more\n", "", "\n"}) {
        const ParseOutcome outcome = parse_config(refused_config("a \"b\"", why), "t.conf");
        EXPECT_THAT(to_string(outcome.errors), HasSubstr("could not be explained")) << why;
    }
    EXPECT_FALSE(parse_config(refused_config("f", std::string(9000, 'x')), "").ok());
}

TEST(ExplainTest, NotesAreThoseOfTheirDirective) {
    const std::string text =
        of("listen 1; vhost a { rtc { enabled on; keep_bframe on; stun_timeout 30; nack on; } }",
           ForeignServer::kSrs)
            .text;
    EXPECT_THAT(text, HasSubstr("rtc nack on: needs no directive here. Always on."));
    EXPECT_THAT(text, HasSubstr("rtc keep_bframe on: no counterpart. B-frames that no other"));
    EXPECT_THAT(text, HasSubstr("rtc stun_timeout 30: no counterpart. A session"));
}

constexpr std::string_view kSrsTls = R"(listen 19350 [::]:19350 0.0.0.0:19350;
http_api { listen 1985; https { enabled on; listen 1990; key a.key; cert a.crt; } }
http_server { listen 8080; https { enabled on; listen 8088; key b.key; cert b.crt; } }
rtmps { enabled on; listen 1443; key c.key; cert c.crt; }
)";

TEST(ExplainTest, ListenersOfTlsAreTakenOver) {
    const Config config = config_of(of(kSrsTls));
    ASSERT_EQ(config.listen.size(), 2U) << "the same port twice is one listener";
    EXPECT_EQ(config.listen[0].address, "[::]:19350");
    EXPECT_FALSE(config.listen[0].ssl);
    EXPECT_EQ(config.listen[1].address, "0.0.0.0:1443");
    EXPECT_TRUE(config.listen[1].ssl);
    ASSERT_EQ(config.http_server.listen.size(), 2U);
    EXPECT_EQ(config.http_server.listen[1].address, "0.0.0.0:8088");
    EXPECT_TRUE(config.http_server.listen[1].ssl);
    ASSERT_EQ(config.http_api.listen.size(), 2U);
    EXPECT_EQ(config.http_api.listen[1].address, "127.0.0.1:1990");
    EXPECT_TRUE(config.http_api.listen[1].ssl);
    ASSERT_EQ(config.tls.certificates.size(), 1U);
    EXPECT_THAT(config.tls.certificates[0].certificate, testing::EndsWith("c.crt"));
    EXPECT_THAT(config.tls.certificates[0].key, testing::EndsWith("c.key"));
}

TEST(ExplainTest, ListenersOfTlsThatAreOffStayOff) {
    const Explained done =
        of("listen 1935;\nrtmps { enabled off; listen 1443; key c.key; cert c.crt; }\n"
           "http_server { https { listen 8088; } }\n");
    EXPECT_EQ(config_of(done).listen.size(), 1U);
    EXPECT_THAT(done.config, Not(HasSubstr("ssl")));
    EXPECT_THAT(done.text, HasSubstr("their.conf:2: rtmps { }: switched off there, and left out"));
}

TEST(ExplainTest, NginxIsRecognisedAndItsApplicationsStay) {
    const Explained done =
        of("worker_processes 4;\nuser nobody;\nevents { worker_connections 1024; use epoll; }\n"
           "rtmp { max_connections 99; server { listen 1935 so_keepalive=on; chunk_size 4096; "
           "allow publish 10.0.0.1;\n"
           "application live { live on; on_publish http://a/b; hls on; hls_path /x; "
           "drop_idle_publisher 5s; idle_streams off; } application other { live on; } } }\n"
           "http { include mime.types; server { location /stat { rtmp_stat all; } } }");
    EXPECT_THAT(done.decisions, IsEmpty());
    const Config config = config_of(done);
    EXPECT_EQ(config.listen[0].address, "0.0.0.0:1935") << "a bare port is IPv4 there";
    EXPECT_EQ(config.max_connections, 99u) << "the lower of two limits";
    EXPECT_EQ(config.chunk_size, 4096u);
    EXPECT_TRUE(config.http_server.enabled) << "for HLS";
    EXPECT_TRUE(config.http_api.enabled) << "for rtmp_stat";
    EXPECT_EQ(config.http_api.listen.at(0).address, "127.0.0.1:1985");
    const VhostConfig& live = *config.find_settings("", "live");
    EXPECT_EQ(live.publish.normal_timeout, Seconds(5));
    EXPECT_EQ(live.play.wait_publisher, Millis(0));
    EXPECT_TRUE(live.http_hooks.has(net::HookAction::kPublish));
    EXPECT_TRUE(live.security.allows(Action::kPublish, "10.0.0.1"));
    const VhostConfig& other = *config.find_settings("", "other");
    EXPECT_EQ(other.play.wait_publisher, Seconds(30));
    EXPECT_FALSE(other.http_hooks.has(net::HookAction::kPublish));
    EXPECT_THAT(done.text, HasSubstr("nginx with its RTMP module"));
    EXPECT_TRUE(live.hls.enabled);
    EXPECT_FALSE(other.hls.enabled);
    EXPECT_THAT(done.text, HasSubstr("hls_path /x: becomes hls { path /x; }"));
    EXPECT_THAT(done.text,
                HasSubstr("rtmp_stat all: becomes http_api { enabled on; } (GET /api/v1"));
    EXPECT_THAT(done.text, Not(HasSubstr("mime.types"))) << "no business of RTMP";
}

TEST(ExplainTest, TheHeaderOfAProxyStaysAsked) {
    const Config config = config_of(
        of("rtmp { server { listen 1935 proxy_protocol; application live { live on; } } }"));
    EXPECT_TRUE(config.listen.at(0).proxy_protocol);
}

// What the check of this server refuses goes, with its reason; where it restricted access it is to
// be decided.
TEST(ExplainTest, WhatTheCheckRefusesIsNotForgotten) {
    const Explained done =
        of("listen 1935;\nchunk_size 7;\nmax_connections 0;\n"
           "vhost c { publish { normal_timeout 9h; } }",
           ForeignServer::kSrs);
    EXPECT_THAT(done.config, HasSubstr("# chunk_size 7;   # cannot be taken over"));
    EXPECT_THAT(
        done.decisions,
        ElementsAre(HasSubstr("their.conf:3: \"max_connections 0;\" is not possible here")));
    EXPECT_TRUE(done.config.find("unresolved \"their.conf:3:") < done.config.find("vhost c"));
    EXPECT_FALSE(parse_config(done.config, "").ok());
}

TEST(ExplainTest, BrokenAndForeignFilesAreErrors) {
    EXPECT_THAT(to_string(explain("vhost a {", "f", std::nullopt).errors), HasSubstr("f:1:1"));
    EXPECT_THAT(to_string(explain("[section]\nkey = value\n", "f", std::nullopt).errors),
                Not(IsEmpty()));
    EXPECT_THAT(to_string(explain("a b;", "f", std::nullopt).errors),
                HasSubstr("neither of SRS nor of nginx"));
    EXPECT_THAT(to_string(explain("", "f", std::nullopt).errors), HasSubstr("neither of SRS"));
    EXPECT_TRUE(explain("a b;", "f", ForeignServer::kSrs).errors.empty());
    EXPECT_FALSE(explain(std::string(2 << 20, ' '), "f", ForeignServer::kSrs).errors.empty());
}

// Loads, or is refused for what has to be decided and for nothing else.
void expect_good(const Explained& done, std::string_view text) {
    if (!done.errors.empty()) {
        return;
    }
    const ParseOutcome outcome = parse_config(done.config, "");
    EXPECT_EQ(outcome.ok(), done.decisions.empty()) << text << "\n" << done.config;
    for (const Diagnostic& error : outcome.errors) {
        EXPECT_THAT(error.message, HasSubstr("something to decide")) << text << "\n" << done.config;
    }
}

// Wherever a file is cut or a word is replaced, there is an answer.
TEST(ExplainTest, NoFileIsTooOdd) {
    for (size_t size = 0; size < kSrs.size(); size++) {
        for (const auto server : {ForeignServer::kSrs, ForeignServer::kNginxRtmp}) {
            expect_good(explain(kSrs.substr(0, size), "f", server), kSrs.substr(0, size));
        }
    }
    for (const char* word :
         {"", "\"\"", "-1", "9999999999999999999999", "\"a;b{}\"", "a b c", "\"\\n\""}) {
        for (const auto server : {ForeignServer::kSrs, ForeignServer::kNginxRtmp}) {
            const auto table =
                server == ForeignServer::kSrs ? srs_directives() : nginx_directives();
            for (const ForeignDirective& each : table) {
                std::string text = std::string(each.name) + " " + word + ";";
                for (size_t dot = text.find('.'); dot < each.name.size(); dot = text.find('.')) {
                    text.replace(dot, 1, text.starts_with("vhost.") ? " v { " : " { ");
                    text += " }";
                }
                expect_good(explain(text, "f", server), text);
            }
        }
    }
}

TEST(ExplainTest, TheTablesAreComplete) {
    for (const auto table : {srs_directives(), nginx_directives()}) {
        std::set<std::string_view> seen;
        for (const ForeignDirective& each : table) {
            EXPECT_TRUE(seen.insert(each.name).second) << each.name;
            EXPECT_EQ(each.note.find('|'), std::string_view::npos) << each.name;
            EXPECT_TRUE(each.note.empty() || each.note.ends_with('.') || each.note.ends_with('}') ||
                        each.note.ends_with(';'))
                << each.name;
            EXPECT_TRUE(each.here.empty() || directive_of(each.here) != nullptr) << each.name;
            EXPECT_TRUE(each.here.empty() || each.fate == Fate::kSame ||
                        each.fate == Fate::kDiffers)
                << each.name;
        }
    }
    for (const char* name :
         {"push", "exec_static", "record", "hls", "on_publish", "drop_idle_publisher",
          "rtmp_auto_push", "play", "netcall_timeout", "wait_key"}) {
        EXPECT_TRUE(std::ranges::any_of(nginx_directives(), [&](const auto& each) {
            return each.name == name;
        })) << name;
    }
}

TEST(ExplainTest, TheDocumentHoldsTheTables) {
    std::ifstream in(test::source_file("../doc/migrating.md"));
    const std::string page{std::istreambuf_iterator<char>(in), {}};
    EXPECT_TRUE(page.ends_with(migration_markdown())) << "run scripts/gen-config-docs";
}

Statement statement(std::string_view text) {
    DiagnosticSink sink("");
    return parse_statements(text, [](std::string_view) { return false; }, sink).at(0);
}

TEST(ExplainConvertTest, Durations) {
    EXPECT_THAT(seconds(statement("x 30;")), ElementsAre("30s"));
    EXPECT_THAT(seconds(statement("x 2.5;")), ElementsAre("2500ms"));
    EXPECT_THAT(seconds(statement("x 500ms;")), ElementsAre("500ms"));
    EXPECT_THAT(milliseconds(statement("x 350;")), ElementsAre("350ms"));
    EXPECT_THAT(milliseconds(statement("x 1m;")), ElementsAre("60s"));
    for (const char* odd : {"x;", "x y;", "x -1;", "x nan;", "x inf;", "x 1y;", "x 1e300;"}) {
        EXPECT_THAT(milliseconds(statement(odd)), IsEmpty()) << odd;
    }
}

TEST(ExplainConvertTest, FlagsAndWords) {
    EXPECT_THAT(flag(statement("x ON;")), ElementsAre("on"));
    EXPECT_THAT(flag(statement("x false;")), ElementsAre("off"));
    EXPECT_THAT(keep(statement("x \"a b\" c;")), ElementsAre("\"a b\" c"));
    EXPECT_THAT(when(statement("x console;"), "console", "stderr"), ElementsAre("stderr"));
    EXPECT_THAT(when(statement("x file;"), "console", "stderr"), IsEmpty());
}

}  // namespace
}  // namespace weir::config
