#include "bench/load/core/rtc_signalling.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

TEST(RtcSignallingTest, AnHttpAnswerIsTakenApart) {
    const auto answer = HttpAnswer::parse(
        "HTTP/1.1 201 Created\r\ncontent-type: application/sdp\r\nlocation: /rtc/v1/session/x\r\n"
        "\r\nv=0\r\n");
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->status, 201);
    EXPECT_EQ(answer->location, "/rtc/v1/session/x");
    EXPECT_EQ(answer->body, "v=0\r\n");
    const auto refused = HttpAnswer::parse("HTTP/1.1 404 Not Found\r\n\r\nno such stream\r\n");
    ASSERT_TRUE(refused.ok());
    EXPECT_EQ(describe(*refused), "status 404: no such stream");
    EXPECT_FALSE(HttpAnswer::parse("").ok());
    EXPECT_FALSE(HttpAnswer::parse("HTTP/1.1 2x1 Created\r\n\r\n").ok());
    EXPECT_FALSE(HttpAnswer::parse("HTTP/1.1 201 Created\r\n").ok());
}

TEST(RtcSignallingTest, RequestsHaveWhatTheServerNeeds) {
    const std::string post = rtc_post_request("h:80", "/rtc/v1/whep/?app=a", "secret", "v=0");
    EXPECT_TRUE(post.starts_with("POST /rtc/v1/whep/?app=a HTTP/1.1\r\nHost: h:80\r\n"));
    EXPECT_NE(post.find("Authorization: Bearer secret\r\n"), std::string::npos);
    EXPECT_NE(post.find("Content-Length: 3\r\n"), std::string::npos);
    EXPECT_TRUE(post.ends_with("\r\n\r\nv=0"));
    EXPECT_EQ(rtc_post_request("h", "/", "", "").find("Authorization"), std::string::npos);
    EXPECT_TRUE(rtc_delete_request("h", "/s").starts_with("DELETE /s HTTP/1.1\r\n"));
}

}  // namespace
}  // namespace weir::load
