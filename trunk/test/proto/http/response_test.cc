#include "proto/http/response.h"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

TEST(HttpResponseTest, WritesAHead) {
    std::string head = http_response_head(404, {{"Content-Length", "3"}, {"Connection", "close"}});
    EXPECT_TRUE(head.starts_with("HTTP/1.1 404 Not Found\r\n"));
    EXPECT_NE(head.find("\r\nServer: "), std::string::npos);
    EXPECT_NE(head.find("\r\nDate: "), std::string::npos);
    EXPECT_NE(head.find("\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"), std::string::npos);
}

TEST(HttpResponseTest, LetsNoValueSplitTheHead) {
    std::string head = http_response_head(302, {{"Location", "/a\r\nSet-Cookie: x\n\x01"}});
    EXPECT_NE(head.find("Location: /a  Set-Cookie: x  \r\n\r\n"), std::string::npos);
}

TEST(HttpResponseTest, WritesAndReadsDates) {
    EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");  // RFC 9110 §5.6.7
    EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
    for (time_t time : {time_t{0}, time_t{951782400}, time_t{4102444799}}) {
        EXPECT_EQ(parse_http_date(http_date(time)), time);
    }
}

TEST(HttpResponseTest, RefusesWhatIsNoDate) {
    for (const char* text :
         {"", "yesterday", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nox 1994 08:49:37 GMT",
          "Sun, 06 Nov 1994 28:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
          "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 199x 08:49:37 GMT"}) {
        EXPECT_EQ(parse_http_date(text), std::nullopt) << text;
    }
}

TEST(HttpResponseTest, HasATextForEachStatusThatIsSent) {
    for (int status : {100, 101, 200, 204, 206, 301, 304, 400, 403, 404, 405, 408, 412,
                       422, 428, 411, 413, 414, 416, 417, 426, 431, 500, 501, 503, 505}) {
        EXPECT_NE(status_text(status), "Unknown") << status;
    }
    EXPECT_EQ(status_text(299), "Unknown");
}

TEST(HttpResponseTest, WritesErrorsAsTextOrJson) {
    EXPECT_EQ(http_error_body(ErrorFormat::kText, 404, "there is nothing").body,
              "404 Not Found: there is nothing\n");
    ErrorBody json = http_error_body(ErrorFormat::kJson, 400, "no \"quotes\"");
    EXPECT_EQ(json.content_type, "application/json");
    EXPECT_EQ(json.body, "{\"code\":400,\"error\":\"no \\\"quotes\\\"\"}\n");
}

TEST(HttpResponseTest, EscapesForJson) {
    EXPECT_EQ(json_escaped("a\"b\\c\n\x1f"), "a\\\"b\\\\c\\u000a\\u001f");
    EXPECT_EQ(json_escaped("\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"),
              "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80");
    EXPECT_EQ(json_escaped("\xFFx\xC3"), "\\ufffdx\\ufffd") << "broken UTF-8";
    EXPECT_EQ(json_escaped("\xED\xA0\x80"), "\\ufffd\\ufffd\\ufffd") << "a surrogate";
    EXPECT_EQ(json_escaped("\xC0\x80"), "\\ufffd\\ufffd") << "overlong";
}

}  // namespace
}  // namespace weir::http
