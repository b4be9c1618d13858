#include "proto/http/stream_response.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

using Status = StreamResponse::Status;

struct Outcome {
    Status status = Status::kHead;
    int code = 0;
    std::string body;
    std::string error;

    bool operator==(const Outcome&) const = default;
};

Outcome read(std::string_view text, size_t step) {
    StreamResponse response;
    Outcome outcome;
    Bytes body;
    while (!text.empty()) {
        outcome.status = response.feed(as_bytes(text.substr(0, step)), body);
        text.remove_prefix(std::min(step, text.size()));
    }
    outcome.code = response.status();
    outcome.body = as_text(body);
    outcome.error = response.take_error().message();
    return outcome;
}

// However the bytes are split.
Outcome read(std::string_view text) {
    const Outcome whole = read(text, text.size() + 1);
    for (size_t step = 1; step < 9; step++) {
        EXPECT_EQ(read(text, step), whole) << "in parts of " << step;
    }
    return whole;
}

TEST(StreamResponseTest, GivesTheBodyUntilTheConnectionEnds) {
    const Outcome got = read("HTTP/1.1 200 OK\r\nContent-Type: video/x-flv\r\n\r\nFLV\x01rest");
    EXPECT_EQ(got.status, Status::kBody);
    EXPECT_EQ(got.code, 200);
    EXPECT_EQ(got.body, "FLV\x01rest");
}

TEST(StreamResponseTest, JoinsChunks) {
    const Outcome got = read(
        "HTTP/1.1 200 OK\r\ntransfer-encoding:  CHUNKED \r\n\r\n"
        "3\r\nabc\r\nA;name=value\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nbehind");
    EXPECT_EQ(got.status, Status::kEnded);
    EXPECT_EQ(got.body, "abc0123456789");
}

TEST(StreamResponseTest, EndsAtTheLength) {
    const Outcome got = read("HTTP/1.0 404 Not Found\r\nContent-Length: 4\r\n\r\ngone and more");
    EXPECT_EQ(got.status, Status::kEnded);
    EXPECT_EQ(got.code, 404);
    EXPECT_EQ(got.body, "gone");
    EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").status, Status::kEnded);
}

TEST(StreamResponseTest, SkipsInterimAnswers) {
    const Outcome got = read("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx");
    EXPECT_EQ(got.code, 200);
    EXPECT_EQ(got.body, "x");
}

TEST(StreamResponseTest, DoesNotWaitForeverBehindInterimAnswers) {
    std::string text;
    for (size_t i = 0; i < StreamResponse::kMaxInformational; i++) {
        text += "HTTP/1.1 100 Continue\r\n\r\n";
    }
    EXPECT_EQ(read(text + "HTTP/1.1 200 OK\r\n\r\n").code, 200);
    const Outcome got = read(text + "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(got.status, Status::kError);
    EXPECT_NE(got.error.find("put off again and again"), std::string::npos);
}

TEST(StreamResponseTest, TellsTypeAndLocation) {
    StreamResponse response;
    Bytes body;
    (void)response.feed(as_bytes("HTTP/1.1 302 Found\r\nLocation: http://b/x.flv\r\n"
                                 "Content-Type: text/html\r\n\r\n"),
                        body);
    EXPECT_EQ(response.status(), 302);
    EXPECT_EQ(response.location(), "http://b/x.flv");
    EXPECT_EQ(response.content_type(), "text/html");
}

TEST(StreamResponseTest, RefusesBrokenAnswers) {
    for (const char* text : {
             "HTTP/2 200 OK\r\n\r\n",
             "FLV\x01\x05",
             "SSH-2.0-x\r\n\r\n",
             "HTTP/1.1 20 OK\r\n\r\n",
             "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
             "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
         }) {
        const Outcome got = read(text, 1000);
        EXPECT_EQ(got.status, Status::kError) << text;
        EXPECT_FALSE(got.error.empty()) << text;
    }
}

TEST(StreamResponseTest, BoundsWhatItKeeps) {
    const std::string head = "HTTP/1.1 200 OK\r\nX: " + std::string(StreamResponse::kMaxHead, 'a');
    EXPECT_EQ(read(head, 1000).status, Status::kError);
    const std::string begin = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    EXPECT_EQ(read(begin + "1;" + std::string(300, 'a'), 1000).status, Status::kError);
    std::string trailers = begin + "0\r\n";
    for (size_t i = 0; i <= StreamResponse::kMaxTrailers; i++) {
        trailers += "a: b\r\n";
    }
    EXPECT_EQ(read(trailers, 1000).status, Status::kError);
}

}  // namespace
}  // namespace weir::http
