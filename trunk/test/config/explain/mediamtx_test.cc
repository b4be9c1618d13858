// weir --explain mediamtx.yml, and files that are cut, wrongly encoded or hostile.
#include "config/explain/mediamtx.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "config/explain/explain.h"
#include "config/explain/yaml.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Explained mtx(std::string_view text) {
    Explained done = explain(text, "m.yml", std::nullopt);
    EXPECT_TRUE(done.errors.empty()) << to_string(done.errors);
    return done;
}

Config loaded(const Explained& done) {
    ParseOutcome outcome = parse_config(done.config, "c/t.conf");
    EXPECT_TRUE(outcome.ok()) << done.config << to_string(outcome.errors);
    return outcome.ok() ? *outcome.config : Config{};
}

std::string error_of(std::string_view text, std::string_view file = "m.yml") {
    return to_string(explain(text, file, std::nullopt).errors);
}

TEST(ExplainMediaMtxTest, ServersAreOnAtTheirPorts) {
    const Config config = loaded(mtx("paths: {all_others: }\n"));
    EXPECT_TRUE(config.rtsp_server.enabled);
    EXPECT_TRUE(config.rtc_server.enabled);
    EXPECT_TRUE(config.srt_server.enabled);
    EXPECT_FALSE(config.http_api.enabled);
    EXPECT_EQ(config.http_server.listen.size(), 2U) << "of HLS and of WebRTC";
    const Config off = loaded(mtx("rtsp: no\nhls: no\nwebrtc: no\nsrt: no\nrtmp: no\n"));
    EXPECT_FALSE(off.rtsp_server.enabled);
    EXPECT_FALSE(off.http_server.enabled);
    EXPECT_EQ(off.listen.at(0).address, "127.0.0.1:1935");
}

TEST(ExplainMediaMtxTest, PathsBecomeStreamsOfApplications) {
    const Explained done =
        mtx("paths:\n"
            "  cam: {source: 'rtsp://u:p@cam/1', sourceOnDemand: yes, rtspTransport: tcp}\n"
            "  tv/one: {source: 'udp+mpegts://239.1.1.1:5000?interface=eth0'}\n"
            "  ~^far/(.+)$: {source: 'rtsp://o.example/$G1'}\n"
            "  whep/a: {source: 'whep://h.example/a/whep'}\n");
    EXPECT_THAT(done.losses, IsEmpty());
    (void)loaded(done);
    for (const char* line :
         {"source rtsp://u:p@cam/1 { stream cam; on_demand on; linger 10s; transport tcp; }",
          "source udp://239.1.1.1:5000@eth0 { stream one; }", "source rtsp://o.example;",
          "source whep+http://h.example/a/whep { stream a; }"}) {
        EXPECT_THAT(done.config, HasSubstr(line));
    }
    EXPECT_THAT(done.text, Not(HasSubstr("u:p")));
}

TEST(ExplainMediaMtxTest, Names) {
    using Kind = MtxName::Kind;
    EXPECT_EQ(parse_mtx_name("cam").app, "live");
    EXPECT_EQ(parse_mtx_name("a/b/c").app, "a/b");
    EXPECT_EQ(parse_mtx_name("~^a/b/.*$").app, "a/b");
    EXPECT_EQ(parse_mtx_name("~^a/").kind, Kind::kApplication);
    EXPECT_EQ(parse_mtx_name("~^.*$").kind, Kind::kAll);
    EXPECT_EQ(parse_mtx_name("all_others").kind, Kind::kAll);
    EXPECT_EQ(parse_mtx_name("~^(a|b)/x$").kind, Kind::kOther);
    EXPECT_EQ(parse_mtx_name("~a/.*").kind, Kind::kOther) << "anywhere in the name";
}

TEST(ExplainMediaMtxTest, UsersBecomeRules) {
    const Explained done =
        mtx("authInternalUsers:\n"
            "- {user: any, ips: [10.0.0.0/8], permissions: [{action: publish}]}\n"
            "- {user: any, permissions: [{action: read}]}\n"
            "paths: {all_others: }\n");
    const Config config = loaded(done);
    const VhostConfig& vhost = *config.find_vhost("");
    EXPECT_TRUE(vhost.security.allows(Action::kPublish, "10.1.1.1"));
    EXPECT_FALSE(vhost.security.allows(Action::kPublish, "127.0.0.1"));
    EXPECT_TRUE(vhost.security.allows(Action::kPlay, "203.0.113.9"));
    EXPECT_THAT(mtx("authInternalUsers:\n- {user: a, pass: 'sha256:x', permissions: [{action: "
                    "publish}]}\n")
                    .decisions,
                SizeIs(1));
    EXPECT_THAT(mtx("authMethod: jwt\n").decisions, SizeIs(1));
    EXPECT_THAT(mtx("authMethod: http\nauthHTTPAddress: http://h/x\n").config,
                HasSubstr("on_publish http://h/x;"));
}

TEST(ExplainMediaMtxTest, RecordingsForwardsAndProgramsAreWritten) {
    const Explained done = mtx(
        "pathDefaults: {record: yes, recordPath: /rec/%path/%Y, recordDeleteAfter: 7d}\n"
        "paths:\n"
        "  ~^live/.*$:\n"
        "    forward: [{dest: 'rtmp://cdn.example/app#key'}]\n"
        "    runOnReady: ffmpeg -i rtsp://localhost:$RTSP_PORT/$MTX_PATH -f flv 'rtmp://x/a b'\n");
    EXPECT_THAT(done.losses, IsEmpty());
    EXPECT_TRUE(loaded(done).find_settings("", "live")->record.enabled);
    for (const char* line :
         {"path /rec;", "keep 168h;", "forward rtmp://cdn.example/app/key;",
          "exec_push ffmpeg -i rtsp://localhost:8554/$app/$name -f flv \"rtmp://x/a b\";"}) {
        EXPECT_THAT(done.config, HasSubstr(line));
    }
}

TEST(ExplainMediaMtxTest, WhatIsLostHeadsTheText) {
    for (const char* path :
         {"alwaysAvailable: yes", "fallback: /x", "runOnInit: a", "runOnDemand: a", "runOnRead: a",
          "source: rpiCamera", "source: 'http://h/a.m3u8'", "forward: [{dest: 'whip://h/a'}]",
          "runOnReady: ffmpeg -i a rtsp://localhost/$MTX_PATH"}) {
        const Explained done = mtx(fmt::format("paths:\n  ~^live/.*$: {{{}}}\n", path));
        EXPECT_THAT(done.losses, SizeIs(1)) << path;
        EXPECT_TRUE(done.text.starts_with("LOST: ")) << path;
    }
    EXPECT_THAT(mtx("webrtcAdditionalHosts: [a.example]\n").losses, SizeIs(1));
}

TEST(ExplainBadInputTest, EncodingsAreNamed) {
    EXPECT_THAT(error_of(std::string("\xff\xfe"
                                     "p\0",
                                     4)),
                HasSubstr("iconv -f UTF-16"));
    EXPECT_THAT(error_of("paths:\n  c\xe4m:\n"), HasSubstr("m.yml:2:4: found bytes that are no"));
    EXPECT_THAT(error_of("rtmp { } # \xe4\n", "n.conf"), HasSubstr("iconv -f LATIN1"));
}

TEST(ExplainBadInputTest, OtherServersAreNamed) {
    EXPECT_THAT(error_of("streams: {cam: rtsp://x}\n"), HasSubstr("go2rtc"));
    EXPECT_THAT(error_of("<?xml version='1.0'?><Server>", "Server.xml"),
                HasSubstr("OvenMediaEngine"));
    EXPECT_THAT(error_of("a: b\n"), HasSubstr("no configuration of MediaMTX"));
}

TEST(ExplainBadInputTest, YamlIsBounded) {
    std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
    for (char c = 'b'; c < 'k'; c++) {
        bomb += fmt::format("{0}: &{0} [", c);
        for (int i = 0; i < 10; i++) {
            bomb += fmt::format("*{},", static_cast<char>(c - 1));
        }
        bomb += "]\n";
    }
    EXPECT_THAT(error_of(bomb), HasSubstr("found more than 100000 values"));
    EXPECT_THAT(error_of("paths: " + std::string(1000, '[')), HasSubstr("nested deeper than 32"));
    EXPECT_THAT(error_of("paths: &p {a: *p}\n"), HasSubstr("no anchor of that name"));
    EXPECT_THAT(error_of("paths: {}\npaths: {}\n"), HasSubstr("'paths' twice"));
    EXPECT_THAT(error_of("paths: {\n"), HasSubstr("this is no YAML"));
    EXPECT_THAT(error_of("paths: {}\n---\npaths: {}\n"), HasSubstr("a second document"));
}

TEST(ExplainBadInputTest, AliasesAndMergeKeysAreResolved) {
    DiagnosticSink sink("m.yml");
    const auto root = parse_yaml("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n", sink);
    ASSERT_TRUE(root.has_value());
    EXPECT_EQ(root->find("b")->word("x"), "1");
    EXPECT_EQ(root->find("b")->word("y"), "3");
}

TEST(ExplainBadInputTest, TenThousandLinesHaveAnAnswer) {
    std::string text = "paths:\n";
    for (int i = 0; i < 10'000; i++) {
        text += fmt::format("  live/c{}: {{source: 'rtsp://192.0.2.1/{}'}}\n", i, i);
    }
    const Explained done = mtx(text);
    EXPECT_FALSE(done.decisions.empty() && parse_config(done.config, "").ok() &&
                 done.config.empty());
}

}  // namespace
}  // namespace weir::config
