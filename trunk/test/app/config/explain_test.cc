#include "app/config/explain.h"

#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/config.h"
#include "app/config/explain_convert.h"

namespace weir::app {
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
vhost __defaultVhost__ {
    dvr { enabled on; dvr_path ./a.flv; }
    play { gop_cache off; queue_length 2.5; mw_latency 350; mw_msgs 8; }
    publish { firstpkt_timeout 20000; }
}
vhost A.example {
    security { enabled on; deny publish 10.0.0.1; allow publish all; }
    something_new on;
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
    const Config config = config_of(done);
    EXPECT_EQ(config.listen.size(), 2u);
    EXPECT_EQ(config.max_connections, 500u);
    EXPECT_EQ(config.log_level, log::Level::kInfo);
    EXPECT_TRUE(config.config_watch);
    EXPECT_FALSE(config.http_server.enabled);
    EXPECT_EQ(config.http_server.dir, "c/a b");
    EXPECT_EQ(config.http_api.listen[0].address, "127.0.0.1:1985") << "safe at first";
    EXPECT_TRUE(config.rtc_server.enabled);
    EXPECT_FALSE(config.rtc_server.tcp);
    EXPECT_TRUE(config.rtc_server.candidates.empty());
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
    EXPECT_THAT(text, HasSubstr("their.conf is a configuration of SRS."));
    EXPECT_THAT(text,
                HasSubstr("their.conf:2: max_connections 500: the same: max_connections 500;"));
    EXPECT_THAT(text, HasSubstr("their.conf:4: daemon off: needs no directive here."));
    EXPECT_THAT(text, HasSubstr("their.conf:10: dvr { }: no counterpart. Not in this version."));
    EXPECT_THAT(text, Not(HasSubstr("dvr_path"))) << "the block says it";
    EXPECT_THAT(text,
                HasSubstr("play queue_length 2.5: becomes play { queue_length 2500ms; } (Who"));
    EXPECT_THAT(text, HasSubstr("their.conf:16: something_new on: not known here, and left out"));
    EXPECT_THAT(text, HasSubstr("Publishing is allowed from this machine only"));
    EXPECT_THAT(text, Not(HasSubstr("hidden-word")));
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
    EXPECT_EQ(config.listen[1].address, "[::]:1443");
    EXPECT_TRUE(config.listen[1].ssl);
    ASSERT_EQ(config.http_server.listen.size(), 2U);
    EXPECT_EQ(config.http_server.listen[1].address, "[::]:8088");
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

TEST(ExplainTest, NginxIsRecognisedAndItsBlocksPlayNoPart) {
    const Explained done =
        of("worker_processes 4;\nevents { worker_connections 1024; }\n"
           "rtmp { server { listen 1935 so_keepalive=on; chunk_size 4096; allow publish 10.0.0.1;\n"
           "application live { live on; on_publish http://a/b; hls on; hls_path /x; "
           "drop_idle_publisher 5s; "
           "idle_streams off; } } }\n"
           "http { include mime.types; server { location /stat { rtmp_stat all; } } }");
    const Config config = config_of(done);
    EXPECT_EQ(config.listen[0].address, "[::]:1935");
    EXPECT_EQ(config.max_connections, 1024u);
    EXPECT_EQ(config.chunk_size, 4096u);
    EXPECT_EQ(config.find_vhost("")->publish.normal_timeout, Seconds(5));
    EXPECT_EQ(config.find_vhost("")->play.wait_publisher, Millis(0));
    EXPECT_TRUE(config.find_vhost("")->security.allows(Action::kPublish, "10.0.0.1"));
    EXPECT_THAT(done.text, HasSubstr("nginx with its RTMP module"));
    EXPECT_THAT(done.text, HasSubstr("hls_path /x: no counterpart"));
    EXPECT_THAT(done.text, HasSubstr("rtmp_stat all: GET /api/v1/streams"));
    EXPECT_THAT(done.text, Not(HasSubstr("mime.types"))) << "no business of RTMP";
}

// Otherwise what one application allows would hold for the other.
TEST(ExplainTest, RulesOfTwoApplicationsAreNotMixed) {
    const Explained done =
        of("rtmp { server { application a { allow publish 10.0.0.1; deny publish all; }\n"
           "application b { allow publish all; } } }");
    EXPECT_FALSE(config_of(done).find_vhost("")->security.allows(Action::kPublish, "10.0.0.2"));
    EXPECT_THAT(done.text, HasSubstr("their.conf:2: allow publish all: not taken over"));
}

TEST(ExplainTest, WhatTheCheckRefusesStandsInAComment) {
    const Explained done =
        of("listen 99999;\nmax_connections 0;\nchunk_size 4096;\nlisten 7;\n"
           "vhost a/b { security { allow publish all; } }\n"
           "vhost c { security { allow publish nobody; deny play all; } }",
           ForeignServer::kSrs);
    EXPECT_THAT(done.config, HasSubstr("# listen 99999;   # cannot be taken over"));
    const Config config = config_of(done);
    EXPECT_EQ(config.chunk_size, 4096u);
    EXPECT_EQ(config.max_connections, 10000u);
    EXPECT_FALSE(config.find_vhost("x")->security.allows(Action::kPublish, "10.0.0.1"))
        << "rules of a vhost that cannot be are not those of all";
    EXPECT_FALSE(config.find_vhost("c")->security.allows(Action::kPlay, "10.0.0.1"));
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

// Wherever a file is cut or a word is replaced, there is an answer.
TEST(ExplainTest, NoFileIsTooOdd) {
    for (size_t size = 0; size < kSrs.size(); size++) {
        for (const auto server : {ForeignServer::kSrs, ForeignServer::kNginxRtmp}) {
            const Explained done = explain(kSrs.substr(0, size), "f", server);
            EXPECT_TRUE(!done.errors.empty() || parse_config(done.config, "").ok())
                << kSrs.substr(0, size);
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
                const Explained done = explain(text, "f", server);
                EXPECT_TRUE(!done.errors.empty() || parse_config(done.config, "").ok())
                    << text << "\n"
                    << done.config;
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
    std::ifstream in(std::string(WEIR_SOURCE_DIR) + "/../doc/migrating.md");
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
}  // namespace weir::app
