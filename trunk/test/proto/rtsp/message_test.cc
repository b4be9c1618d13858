#include "proto/rtsp/message.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "proto/rtsp/connection_reader.h"

namespace weir::rtsp {
namespace {

TEST(RtspMessageTest, WritesARequestWithCSeqFirst) {
    Request request;
    request.method = Method::kDescribe;
    request.url = "rtsp://h/live/a";
    request.cseq = 3;
    request.headers = {{"Accept", "application/sdp"}, {"User-Agent", "Weir"}};
    EXPECT_EQ(write(request),
              "DESCRIBE rtsp://h/live/a RTSP/1.0\r\nCSeq: 3\r\nAccept: application/sdp\r\n"
              "User-Agent: Weir\r\n\r\n");
}

TEST(RtspMessageTest, WritesAResponseWithTheLengthOfItsBody) {
    Response response;
    response.cseq = 3;
    response.headers = {{"Content-Type", "application/sdp"}, {"Content-Length", "99"}};
    response.body = "v=0\r\n";
    EXPECT_EQ(write(response),
              "RTSP/1.0 200 OK\r\nCSeq: 3\r\nContent-Type: application/sdp\r\n"
              "Content-Length: 5\r\n\r\nv=0\r\n");
}

TEST(RtspMessageTest, WritesTheReasonThatIsGiven) {
    Response response;
    response.status = 505;
    response.reason = "use RTSP/1.0";
    EXPECT_EQ(write(response), "RTSP/1.0 505 use RTSP/1.0\r\n\r\n");
}

TEST(RtspMessageTest, LetsNoValueSplitTheHead) {
    Response response;
    response.reason = "OK\r\nInjected: 1";
    response.headers = {{"Session", "a\r\nInjected: 1"},
                        {"Bad Name", "x"},
                        {"", "x"},
                        {"Bad\r\nInjected", "x"},
                        {"Nul", std::string("a\0b", 3)}};
    EXPECT_EQ(write(response),
              "RTSP/1.0 200 OK  Injected: 1\r\nSession: a  Injected: 1\r\nNul: a b\r\n\r\n");
    Request request;
    request.method_name = "BAD METHOD";
    request.url = "rtsp://h/a b\r\nX: y\xc3\xa4";
    EXPECT_EQ(write(request), "UNKNOWN rtsp://h/a%20b%0D%0AX:%20y%C3%A4 RTSP/1.0\r\n\r\n");
    EXPECT_EQ(write(Request()), "UNKNOWN * RTSP/1.0\r\n\r\n");
}

TEST(RtspMessageTest, KeepsTheNameOfAnUnknownMethod) {
    Request request;
    request.method_name = "BREW";
    request.url = "*";
    EXPECT_EQ(write(request), "BREW * RTSP/1.0\r\n\r\n");
}

TEST(RtspMessageTest, ReadsBackWhatItWrites) {
    Request request;
    request.method = Method::kAnnounce;
    request.url = "rtsp://h/live/a?key=b";
    request.cseq = 4294967295;
    request.headers = {{"Session", "12;timeout=60"}, {"Empty", ""}};
    request.body = "v=0\r\n$";
    const std::string text = write(request);
    ConnectionReader reader;
    ByteSpan input = as_bytes(text);
    ASSERT_EQ(reader.next(input), ConnectionReader::Status::kRequest);
    EXPECT_EQ(reader.request().body, request.body);
    EXPECT_EQ(write(reader.request()), text);
}

TEST(RtspMessageTest, WritesTheHeadOfATunnel) {
    HttpHead head;
    head.method = "GET";
    head.target = "/live/a";
    head.headers.add("x-sessioncookie", "abc");
    EXPECT_EQ(write(head), "GET /live/a HTTP/1.0\r\nx-sessioncookie: abc\r\n\r\n");
}

TEST(RtspMessageTest, NamesStatusCodesAsTheRfcDoes) {
    EXPECT_EQ(status_text(200), "OK");
    EXPECT_EQ(status_text(454), "Session Not Found");
    EXPECT_EQ(status_text(461), "Unsupported Transport");
    EXPECT_EQ(status_text(551), "Option Not Supported");
    EXPECT_EQ(status_text(299), "Unknown");
}

TEST(RtspMethodTest, KnowsItsNames) {
    for (int i = 1; i <= static_cast<int>(Method::kRedirect); i++) {
        EXPECT_EQ(parse_method(to_string(static_cast<Method>(i))), static_cast<Method>(i));
    }
    EXPECT_EQ(parse_method("GET_PARAMETER"), Method::kGetParameter);
    EXPECT_EQ(parse_method("play"), Method::kUnknown);
    EXPECT_EQ(parse_method("UNKNOWN"), Method::kUnknown);
    EXPECT_EQ(parse_method(""), Method::kUnknown);
}

TEST(RtspMethodSetTest, ReadsPublicAsCamerasWriteIt) {
    const MethodSet some = {Method::kOptions, Method::kPlay, Method::kGetParameter};
    EXPECT_EQ(some.write(), "OPTIONS, PLAY, GET_PARAMETER");
    EXPECT_EQ(MethodSet::parse("OPTIONS, PLAY, GET_PARAMETER"), some);
    EXPECT_EQ(MethodSet::parse("options,play  get_parameter,,BREW"), some);
    EXPECT_TRUE(some.has(Method::kPlay));
    EXPECT_FALSE(some.has(Method::kRecord));
    EXPECT_TRUE(MethodSet::parse("").empty());
    EXPECT_TRUE(MethodSet::parse("UNKNOWN").empty());
}

}  // namespace
}  // namespace weir::rtsp
