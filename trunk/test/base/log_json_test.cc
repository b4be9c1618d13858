#include "base/log_json.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "base/log.h"

namespace weir::log {
namespace {

constexpr std::string_view kHead = "2026-11-21T07:34:05.123Z info  ";
constexpr std::string_view kJsonHead = "{\"time\":\"2026-11-21T07:34:05.123Z\",\"level\":\"info\",";

// The object of a line with that text, without what all begin with.
std::string json_of(std::string_view text) {
    std::string out;
    append_json(out, std::string(kHead) + std::string(text));
    EXPECT_TRUE(out.starts_with(kJsonHead)) << out;
    return out.substr(std::min(out.size(), kJsonHead.size()));
}

TEST(LogJsonTest, PairsBecomeMembers) {
    EXPECT_EQ(json_of("[r1234567] closed role=player bytes=1234 kbps=0.5 duration=1.2s"),
              R"("id":"r1234567","message":"closed","role":"player","bytes":1234,"kbps":0.5,)"
              R"("duration":"1.2s"})");
}

TEST(LogJsonTest, ALineWithoutPairsIsItsMessage) {
    EXPECT_EQ(json_of("ready"), R"("message":"ready"})");
    EXPECT_EQ(json_of("listening http://localhost:8080/"),
              R"("message":"listening http://localhost:8080/"})");
    EXPECT_EQ(json_of(""), R"("message":""})");
}

TEST(LogJsonTest, NothingOfALineIsLost) {
    EXPECT_EQ(json_of("weir 0.1.0 pid=12 and more words"),
              R"("message":"weir 0.1.0: and more words","pid":12})");
    EXPECT_EQ(json_of("play refused stream=live/a ip=192.0.2.1: denied (2 more)"),
              R"x("message":"play refused: denied (2 more)","stream":"live/a","ip":"192.0.2.1"})x");
    EXPECT_EQ(json_of("stream=live/a: dropped"), R"("message":"dropped","stream":"live/a"})");
}

TEST(LogJsonTest, BehindAColonNothingIsAPair) {
    EXPECT_EQ(json_of("rejected ip=192.0.2.1: said role=admin"),
              R"("message":"rejected: said role=admin","ip":"192.0.2.1"})");
    EXPECT_EQ(json_of("it failed: role=admin"), R"("message":"it failed: role=admin"})");
}

TEST(LogJsonTest, QuotedValuesLoseTheirQuotesAndEscapes) {
    EXPECT_EQ(json_of(R"(closed detail="by \"them\" \\ \x0a" reason=kicked)"),
              R"("message":"closed","detail":"by \"them\" \\ \u000a","reason":"kicked"})");
    EXPECT_EQ(json_of(R"(open detail="never ends)"), R"("message":"open detail=\"never ends"})");
    EXPECT_EQ(json_of(R"(x detail="a"b)"), R"("message":"x: b","detail":"a"})");
}

TEST(LogJsonTest, WhatAPeerNamedItselfStaysOneValue) {
    const std::string name = "a b role=admin \"\\\n\xe4\xbd\xa0";
    EXPECT_EQ(json_of("play stream=" + token(name) + " ip=192.0.2.1"),
              "\"message\":\"play\",\"stream\":\"a b role=admin \\\"\\\\\\u000a\xe4\xbd\xa0\","
              "\"ip\":\"192.0.2.1\"}");
    EXPECT_EQ(json_of("play detail=\"" + escaped(name) + "\" ip=192.0.2.1"),
              "\"message\":\"play\",\"detail\":\"a b role=admin \\\"\\\\\\u000a\xe4\xbd\xa0\","
              "\"ip\":\"192.0.2.1\"}");
}

TEST(LogJsonTest, TakenKeysStayInTheMessage) {
    EXPECT_EQ(json_of("x a=1 level=debug b=2"), R"("message":"x: level=debug b=2","a":1})");
    EXPECT_EQ(json_of("x a=1 a=2"), R"("message":"x: a=2","a":1})");
}

TEST(LogJsonTest, OnlyPlainNumbersAreNumbers) {
    EXPECT_EQ(json_of("x a=0 b=01 c=1. d=.5 e=-1 f=1234567890123456 g=\"7\" h="),
              R"("message":"x","a":0,"b":"01","c":"1.","d":".5","e":"-1",)"
              R"("f":"1234567890123456","g":"7","h":""})");
}

TEST(LogJsonTest, WhatIsNotUtf8IsReplaced) {
    EXPECT_EQ(json_of("x \xff\xc0\x80\xed\xa0\x80\xe4\xbd"),
              R"("message":"x \ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd"})");
    EXPECT_EQ(json_of("x \xf0\x9f\x8e\xa5"), "\"message\":\"x \xf0\x9f\x8e\xa5\"}");
    EXPECT_EQ(json_of("x \x1b[1m\x7f"), R"("message":"x \u001b[1m\u007f"})");
}

TEST(LogJsonTest, MorePairsThanTheLimitStayInTheMessage) {
    std::string line = "x";
    for (size_t i = 0; i < kMaxJsonFields + 1; i++) {
        line += " k" + std::to_string(i) + "=v";
    }
    const std::string json = json_of(line);
    EXPECT_TRUE(json.starts_with("\"message\":\"x: k32=v\"")) << json;
    EXPECT_TRUE(json.ends_with("\"k31\":\"v\"}")) << json;
}

TEST(LogJsonTest, AnyCutLineGivesOneObject) {
    const std::string whole = std::string(kHead) + R"([r1234567] x a="b\"c\x0a" d=e: f)";
    for (size_t size = 0; size <= whole.size(); size++) {
        std::string out;
        append_json(out, std::string_view(whole).substr(0, size));
        EXPECT_TRUE(out.starts_with("{\"time\":") && out.ends_with("}")) << out;
        EXPECT_EQ(out.find('\n'), std::string::npos);
    }
}

TEST(LogTextTest, ControlCharactersCannotFakeALine) {
    std::string out;
    append_text(out, "a\nb\x1b[0m\tc");
    EXPECT_EQ(out, "a\\x0ab\\x1b[0m\\x09c");
    out.clear();
    append_text(out, "stays \xe4\xbd\xa0");
    EXPECT_EQ(out, "stays \xe4\xbd\xa0");
}

}  // namespace
}  // namespace weir::log
