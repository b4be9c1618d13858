#include "net/api/answer.h"

#include <string>
#include <string_view>

#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test/net/http/test_client.h"

namespace weir::net {
namespace {

using std::string_view_literals::operator""sv;

// `depth` arrays in each other.
std::string nested(int depth) {
    const auto count = static_cast<size_t>(depth);
    return std::string(count, '[') + std::string(count, ']');
}

TEST(ApiAnswerTest, TheEnvelopeSaysWhoAnswersAndComesFirst) {
    Json body = envelope({"server7", "service9", MonoTime()});
    body["data"] = 1;
    EXPECT_EQ(dumped(body),
              fmt::format(R"({{"code":0,"server":"server7","service":"service9","pid":"{}",)"
                          R"("data":1}})",
                          getpid()));
}

// What a publisher calls its stream goes into the API's answers.
TEST(ApiAnswerTest, TextThatIsNotUtf8IsReplacedAndNeverAnError) {
    for (const char* broken : {"\xff", "a\xc3", "\xe2\x82", "\xc0\xaf", "\xed\xa0\x80", "\xf8z"}) {
        const std::string text = dumped(Json{{"name", broken}});
        EXPECT_NE(text.find("\xef\xbf\xbd"), std::string::npos) << text;
        EXPECT_FALSE(Json::parse(text, nullptr, false).is_discarded()) << text;
    }
    EXPECT_EQ(dumped(Json{{"name", "line\nline"}}), R"({"name":"line\nline"})")
        << "one line, whatever is in it";
}

TEST(ApiAnswerTest, WhatIsNoJsonIsNull) {
    for (const char* text : {"", " ", "{", "}", "{\"a\":}", "[1,]", "nul", "1 2", "{} x", "\xff",
                             "\"\\ud800\"", "{'a':1}"}) {
        EXPECT_TRUE(parsed(text, 8).is_null()) << text;
    }
    EXPECT_EQ(parsed(" {\"a\":[1,true]}\n", 8).dump(), R"({"a":[1,true]})");
}

TEST(ApiAnswerTest, EveryTruncationOfAnObjectIsNull) {
    const std::string whole = R"({"a":[1,{"b":"c"}],"d":-1.5e3})";
    ASSERT_FALSE(parsed(whole, 8).is_null());
    for (size_t size = 0; size < whole.size(); size++) {
        EXPECT_TRUE(parsed(whole.substr(0, size), 8).is_null()) << size;
    }
}

// The parser that is used takes a zero byte as the end of its input.
TEST(ApiAnswerTest, JsonWithAZeroByteIsNull) {
    for (const std::string_view text : {"{}\0"sv, "{}\0{"sv, "\0{}"sv, "[1,\0]"sv, "\"\0\""sv}) {
        EXPECT_TRUE(parsed(text, 8).is_null()) << testing::PrintToString(text);
    }
    EXPECT_EQ(parsed(R"("\u0000")", 8).dump(), R"("\u0000")") << "one that is written out";
}

TEST(ApiAnswerTest, JsonThatNestsDeeperThanAllowedIsNull) {
    EXPECT_FALSE(parsed(nested(8), 8).is_null());
    EXPECT_TRUE(parsed(nested(10), 8).is_null());
    EXPECT_TRUE(parsed(R"([0,)" + nested(10) + ",1]", 8).is_null());
    // A body of the API's size that would overflow a small stack, were it followed down.
    EXPECT_TRUE(parsed(nested(30'000), 8).is_null());
    EXPECT_TRUE(parsed(std::string(60'000, '['), 8).is_null());
    std::string objects;
    for (int i = 0; i < 5'000; i++) {
        objects += R"({"a":)";
    }
    EXPECT_TRUE(parsed(objects, 8).is_null());
}

TEST(ApiAnswerTest, GoesOutAsOneLineOfJson) {
    HttpRouter router;
    router.add_prefix("/api", {},
                      [](HttpExchange& exchange) { answer(exchange, Json{{"name", "\xff"}}); });
    const auto server = HttpServer::create(router, {});
    const io::SocketAddress address = serve_on_loopback(*server);
    {
        TestClient client(address);
        const TestAnswer got = client.ask(get_request("/api"));
        EXPECT_EQ(got.status, 200);
        EXPECT_EQ(got.headers.get("Content-Type"), "application/json");
        EXPECT_EQ(got.body, "{\"name\":\"\xef\xbf\xbd\"}\n");
        EXPECT_EQ(client.ask("HEAD /api HTTP/1.1\r\nHost: h\r\n\r\n").headers.get("Content-Length"),
                  std::to_string(got.body.size()));
    }
    EXPECT_FALSE(server->stop(io::soon()));
}

}  // namespace
}  // namespace weir::net
