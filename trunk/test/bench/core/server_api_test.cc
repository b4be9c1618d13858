#include "bench/load/core/server_api.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

// As the server writes it, but for the head.
constexpr std::string_view kBody =
    R"({"code":0,"server":"vid-927pfah","service":"2ctzk6sw","pid":"4210","data":{"ok":true,)"
    R"("now_ms":1795250652485,"self":{"version":"0.1.0","pid":4210,"mem_kbyte":8712,)"
    R"("cpu_seconds":1.50465,"cpu_percent_average":0.31,"uptime_s":478.5},"streams":1,)"
    R"("clients":3,"connections":{"used":4,"limit":10000,"refused":0}}})";

std::string answer(std::string_view status, std::string_view body) {
    return fmt::format("HTTP/1.1 {}\r\nContent-Type: application/json\r\n\r\n{}", status, body);
}

TEST(ServerSummaryTest, TheProcessIsTakenOutOfTheAnswer) {
    auto summary = parse_summary(answer("200 OK", kBody));
    ASSERT_TRUE(summary.ok()) << summary.error().message();
    EXPECT_EQ(summary->pid, 4210U);
    EXPECT_EQ(summary->cpu_us, 1'504'650U);
    EXPECT_EQ(summary->resident_kib, 8'712U);
}

TEST(ServerSummaryTest, AnAnswerThatIsCutOffGivesAllOrNothing) {
    std::string whole = answer("200 OK", kBody);
    for (size_t size = 0; size < whole.size(); size++) {
        auto summary = parse_summary(std::string_view(whole).substr(0, size));
        if (summary.ok()) {
            EXPECT_EQ(summary->pid, 4210U) << size;
            EXPECT_EQ(summary->resident_kib, 8'712U) << size;
        }
    }
}

TEST(ServerSummaryTest, WhatIsNoSuchApiIsToldApart) {
    EXPECT_EQ(parse_summary("SSH-2.0-OpenSSH").error().message(), "what answers is no HTTP server");
    EXPECT_EQ(parse_summary(answer("404 Not Found", "")).error().message(),
              "the API answers with status 404");
    EXPECT_EQ(parse_summary(answer("200 OK", "{}")).error().message(),
              "the API's answer has no member 'self'");
    EXPECT_EQ(parse_summary(answer("200 OK", R"({"self":{"pid":1,"cpu_seconds":"x"}})"))
                  .error()
                  .message(),
              "the API's answer has no number 'cpu_seconds'");
    EXPECT_FALSE(parse_summary(answer("200 OK", R"({"self":{"pid":-4}})")).ok());
}

TEST(ServerSummaryTest, TheRequestNamesTheHostAndEndsTheConnection) {
    std::string request = summary_request("127.0.0.1:1985");
    EXPECT_TRUE(request.starts_with("GET /api/v1/summaries HTTP/1.1\r\nHost: 127.0.0.1:1985\r\n"));
    EXPECT_NE(request.find("Connection: close\r\n"), std::string::npos);
    EXPECT_TRUE(request.ends_with("\r\n\r\n"));
}

}  // namespace
}  // namespace weir::load
