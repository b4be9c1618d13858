#include "proto/http/response_parser.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

using Status = ResponseParser::Status;

constexpr ResponseLimits kLimits{.head_bytes = 512, .body_bytes = 64, .interim_answers = 2};

// What comes of a whole answer, fed in pieces; the connection ends behind it. `first`: the size of
// the first piece, as the others when 0.
std::string outcome_of(std::string_view text,
                       size_t piece,
                       const ResponseLimits& limits = kLimits,
                       size_t first = 0) {
    ResponseParser parser(limits);
    Status status = Status::kNeedMore;
    size_t size = first > 0 ? first : piece;
    while (!text.empty()) {
        status = parser.feed(as_bytes(text.substr(0, size)));
        text.remove_prefix(std::min(size, text.size()));
        size = piece;
    }
    status = parser.end();
    if (status == Status::kError) {
        const Error error = parser.take_error();
        return fmt::format("{}: {}", to_string(error.code()), error.message());
    }
    const Response response = parser.take_response();
    return fmt::format("{} [{}] {}", response.status, response.body,
                       response.keep_alive ? "keep" : "close");
}

struct Case {
    std::string text;
    std::string_view outcome;
};

// A chunk header may be so long, and not longer because more of it came at once.
TEST(HttpResponseParserTest, LimitsAChunkHeaderWhereverTheInputIsCut) {
    const ResponseLimits limits{.head_bytes = 512, .body_bytes = 64, .chunk_head_bytes = 32};
    constexpr std::string_view kHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const size_t length : {20U, 26U, 27U, 28U, 29U, 30U, 31U, 32U, 40U, 90U}) {
        const std::string extension(length, 'e');
        for (const std::string& body :
             {"1;" + extension + "\r\na\r\n0\r\n\r\n", "1\r\na\r\n0;" + extension + "\r\n\r\n",
              "0\r\nA: " + extension + "\r\n\r\n"}) {
            const std::string text = std::string(kHead) + body;
            const std::string whole = outcome_of(text, text.size(), limits);
            if (length == 20 || length >= 40) {
                EXPECT_EQ(whole.starts_with("limit"), length >= 40) << body << ": " << whole;
            }
            for (size_t cut = 1; cut < text.size(); cut++) {
                ASSERT_EQ(outcome_of(text, text.size(), limits, cut), whole) << cut << " " << body;
            }
            ASSERT_EQ(outcome_of(text, 1, limits), whole) << body;
        }
    }
}

TEST(HttpResponseParserTest, SaysTheSameHoweverTheInputIsCut) {
    const std::string long_line(600, 'x');
    const Case cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n0", "200 [0] keep"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 [] keep"},
        {"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\n0", "malformed: it is not HTTP/1.0 or HTTP/1.1"},
        {"HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\n0", "200 [0] keep"},
        {"HTTP/1.1 403 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno", "403 [no] close"},
        {"HTTP/1.0 200 OK\r\n\r\nall of it", "200 [all of it] close"},
        {"HTTP/1.1 200 OK\r\n\r\n", "200 [] close"},
        {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n0", "200 [0] keep"},
        {"HTTP/1.1 204 No Content\r\n\r\n", "204 [] keep"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: "
         "chunked\r\n\r\n2\r\n{}\r\n3;a=b\r\nabc\r\n0\r\n\r\n",
         "200 [{}abc] keep"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n0\r\n0\r\nTrailer: x\r\n\r\n",
         "200 [0] keep"},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"
         "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n0",
         "200 [0] keep"},
        // Behind the answer.
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n0HTTP/1.1 200 OK\r\n\r\n", "200 [0] close"},
        // Broken and endless ones.
        {"", "closed: the connection ends without an answer"},
        {"HTTP/1.1 200 OK\r\nContent-Len", "closed: the connection ends within the answer"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n0",
         "closed: the connection ends within the answer"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
         "closed: the connection ends within the answer"},
        {"220 mail.example.net ESMTP\r\n", "malformed: it is not HTTP/1.0 or HTTP/1.1"},
        {"\x15\x03\x01", "malformed: it is not HTTP/1.0 or HTTP/1.1"},
        {"HTTP/2 200\r\n\r\n", "malformed: it is not HTTP/1.0 or HTTP/1.1"},
        {"HTTP/1.7 200 OK\r\n\r\n", "malformed: it is not HTTP/1.0 or HTTP/1.1"},
        {"HTTP/1.1 20 OK\r\n\r\n", "malformed: it is not HTTP/1.0 or HTTP/1.1"},
        {"HTTP/1.1 099 OK\r\n\r\n", "malformed: its status is 99"},
        {"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "malformed: its head is malformed"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n0",
         "malformed: the length of its body is in doubt"},
        {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n0",
         "malformed: the length of its body is in doubt"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0",
         "malformed: the length of its body is in doubt"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
         "unsupported: its body has another transfer coding than chunked"},
        {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\n0",
         "unsupported: its body is compressed"},
        {"HTTP/1.1 101 Switching Protocols\r\n\r\n", "unsupported: it changes the protocol"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
         "malformed: a chunk of its body is malformed"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 65\r\n\r\n", "limit: its body is too long"},
        {"HTTP/1.1 200 OK\r\n\r\n" + long_line, "limit: its body is too long"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n41\r\n",
         "limit: its body is too long"},
        {"HTTP/1.1 200 OK\r\nX: " + long_line, "limit: its head is too long"},
        {"HTTP/1.1 200 OK\r\nX: " + long_line + "\r\n\r\n", "limit: its head is too long"},
        {"HTTP/1.1 100 A\r\n\r\nHTTP/1.1 100 B\r\n\r\nHTTP/1.1 100 C\r\n\r\n",
         "limit: it is put off again and again (1xx)"},
    };
    for (const Case& each : cases) {
        EXPECT_EQ(outcome_of(each.text, each.text.size() + 1), each.outcome) << each.text;
        for (size_t piece : {1U, 2U, 3U, 7U}) {
            EXPECT_EQ(outcome_of(each.text, piece), each.outcome)
                << each.text << " in pieces of " << piece;
        }
    }
}

TEST(HttpResponseParserTest, StopsAtAnEndlessChunkHeader) {
    ResponseParser parser({});
    EXPECT_EQ(parser.feed(as_bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")),
              Status::kNeedMore);
    Status status = Status::kNeedMore;
    size_t fed = 0;
    for (; status == Status::kNeedMore && fed < 1'000'000; fed += 1000) {
        status = parser.feed(as_bytes(std::string(1000, 'x')));
    }
    EXPECT_EQ(status, Status::kError);
    EXPECT_LT(fed, 40'000U);
    EXPECT_EQ(parser.take_error().code(), ErrorCode::kLimit);
}

TEST(HttpResponseParserTest, KnowsWhetherAnythingCame) {
    ResponseParser parser({});
    EXPECT_TRUE(parser.untouched());
    EXPECT_EQ(parser.feed(as_bytes("H")), Status::kNeedMore);
    EXPECT_FALSE(parser.untouched());
}

TEST(HttpResponseParserTest, GivesTheFieldsButNotThoseOfInterimAnswersAndTrailers) {
    ResponseParser parser({});
    ASSERT_EQ(parser.feed(as_bytes("HTTP/1.1 103 Early\r\nLink: a\r\n\r\n"
                                   "HTTP/1.1 200 OK\r\nX-One: 1\r\nTransfer-Encoding: chunked\r\n"
                                   "\r\n0\r\nX-Two: 2\r\n\r\n")),
              Status::kResponse);
    const Response response = parser.take_response();
    EXPECT_EQ(response.headers.get("x-one"), "1");
    EXPECT_FALSE(response.headers.has("Link"));
    EXPECT_FALSE(response.headers.has("X-Two"));
}

}  // namespace
}  // namespace weir::http
