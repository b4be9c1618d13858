#include "bench/load/core/http_body.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

// The body of the answer, fed in pieces of that size.
std::string body_of(HttpBody& body, std::string_view answer, size_t piece) {
    std::string out;
    while (!answer.empty()) {
        const std::string_view part = answer.substr(0, piece);
        answer.remove_prefix(part.size());
        if (!body.feed(as_bytes(part), [&](ByteSpan bytes) { out.append(as_text(bytes)); })) {
            break;
        }
    }
    return out;
}

TEST(HttpBodyTest, TakesABodyAsItIs) {
    for (size_t piece : {1U, 3U, 1000U}) {
        HttpBody body;
        EXPECT_EQ(body_of(body, "HTTP/1.1 200 OK\r\nServer: x\r\n\r\nabc\r\ndef", piece),
                  "abc\r\ndef");
        EXPECT_TRUE(body.accepted());
        EXPECT_FALSE(body.ended());
    }
}

TEST(HttpBodyTest, TakesChunks) {
    for (size_t piece : {1U, 2U, 1000U}) {
        HttpBody body;
        EXPECT_EQ(
            body_of(body,
                    "HTTP/1.1 200 OK\r\ntransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=1\r\n"
                    "0123456789\r\n0\r\n\r\n",
                    piece),
            "abc0123456789");
        EXPECT_TRUE(body.ended());
    }
}

TEST(HttpBodyTest, TakesABodyOfItsLength) {
    for (size_t piece : {1U, 2U, 1000U}) {
        HttpBody body;
        EXPECT_EQ(body_of(body, "HTTP/1.1 200 OK\r\nContent-Length: 5 \r\n\r\nabcde", piece),
                  "abcde");
        EXPECT_TRUE(body.ended());
    }
    HttpBody empty;
    body_of(empty, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 1000);
    EXPECT_TRUE(empty.ended());
    HttpBody wrong;
    body_of(wrong, "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n", 1000);
    EXPECT_EQ(wrong.failure(), "the answer's length cannot be read");
}

TEST(HttpBodyTest, SaysWhyItWasRefused) {
    HttpBody body;
    body_of(body, "HTTP/1.1 403 Forbidden\r\n\r\n", 100);
    EXPECT_EQ(body.failure(), "refused: HTTP/1.1 403 Forbidden");
}

TEST(HttpBodyTest, BoundsWhatItReads) {
    HttpBody header;
    body_of(header, "HTTP/1.1 200 OK\r\n" + std::string(20'000, 'a'), 1000);
    EXPECT_EQ(header.failure(), "the answer's header is too long");
    HttpBody chunk;
    body_of(chunk, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(100, '0'),
            7);
    EXPECT_EQ(chunk.failure(), "a chunk size line is too long");
}

}  // namespace
}  // namespace weir::load
