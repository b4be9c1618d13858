#include "proto/http/request_parser.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::http {
namespace {

using std::string_literals::operator""s;
using Status = RequestParser::Status;

struct Outcome {
    std::vector<Request> requests;
    int error_status = 0;  // 0: no error
    std::string error_reason;
    std::string unread;
};

// `first`: the size of the first piece, as the others when 0.
Outcome read_all(std::string_view input,
                 size_t piece,
                 const RequestLimits& limits = {},
                 size_t first = 0) {
    RequestParser parser(limits);
    Outcome outcome;
    size_t size = first > 0 ? first : piece;
    while (!input.empty() && outcome.error_status == 0) {
        parser.feed(as_bytes(input.substr(0, size)));
        input.remove_prefix(std::min(size, input.size()));
        size = piece;
        Request request;
        Status status;
        while ((status = parser.next(request)) == Status::kRequest) {
            outcome.requests.push_back(request);
        }
        if (status == Status::kError) {
            outcome.error_status = parser.error().status;
            outcome.error_reason = parser.error().reason;
            EXPECT_FALSE(outcome.error_reason.empty());
        }
    }
    outcome.unread = std::string(as_text(parser.take_unread()));
    return outcome;
}

Request only_request(std::string_view input) {
    Outcome outcome = read_all(input, input.size());
    EXPECT_EQ(outcome.error_status, 0);
    EXPECT_EQ(outcome.requests.size(), 1U);
    return outcome.requests.empty() ? Request() : outcome.requests[0];
}

// Everything that a handler could see.
std::string summary(const Request& request) {
    std::string text =
        fmt::format("{} {} {} ?{} 1.{} {} host={} body={}", to_string(request.method),
                    request.target, request.path, request.query_text, request.version_minor,
                    request.keep_alive, request.host, request.body);
    for (const Field& field : request.headers) {
        text += fmt::format(" [{}={}]", field.name, field.value);
    }
    return text;
}

std::string summary(const Outcome& outcome) {
    std::string text = fmt::format("error={} {} ", outcome.error_status, outcome.error_reason);
    for (const Request& request : outcome.requests) {
        text += summary(request) + "\n";
    }
    return text;
}

constexpr std::string_view kPipeline =
    "GET /live/a.flv?key=x HTTP/1.1\r\nHost: media.example:8080\r\nUser-Agent: test\r\n\r\n"
    "POST /api HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
    "PUT /chunks HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    "4;name=\"va;lue\"\r\nWiki\r\n5\r\npedia\r\n0\r\nExpires: never\r\n\r\n"
    "\r\nHEAD / HTTP/1.0\r\n\r\n"
    "POST /empty HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n"
    "OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

TEST(RequestParserTest, ReadsARequestWithAllItsParts) {
    Request request = only_request(
        "GET /live/a%20b.flv?vhost=v&key=a+b HTTP/1.1\r\nHost: media.example:8080\r\nX-Thing:  "
        "padded \t\r\n\r\n");
    EXPECT_EQ(request.method, Method::kGet);
    EXPECT_EQ(request.target, "/live/a%20b.flv?vhost=v&key=a+b");
    EXPECT_EQ(request.path, "/live/a b.flv");
    EXPECT_EQ(request.query_text, "vhost=v&key=a+b");
    EXPECT_EQ(request.query.get("key"), "a+b");
    EXPECT_EQ(request.host, "media.example:8080");
    EXPECT_EQ(request.headers.get("x-THING"), "padded");
    EXPECT_TRUE(request.keep_alive);
    EXPECT_EQ(request.version_minor, 1);
}

TEST(RequestParserTest, ReadsPipelinedRequestsOneByOne) {
    Outcome outcome = read_all(kPipeline, kPipeline.size());
    ASSERT_EQ(outcome.error_status, 0);
    ASSERT_EQ(outcome.requests.size(), 6U);
    EXPECT_EQ(outcome.requests[0].path, "/live/a.flv");
    EXPECT_EQ(outcome.requests[1].body, "hello");
    EXPECT_EQ(outcome.requests[2].body, "Wikipedia");
    EXPECT_FALSE(outcome.requests[2].headers.has("Expires")) << "trailers are no header fields";
    EXPECT_EQ(outcome.requests[3].method, Method::kHead);
    EXPECT_FALSE(outcome.requests[3].keep_alive);
    EXPECT_EQ(outcome.requests[4].body, "");
    EXPECT_EQ(outcome.requests[5].path, "*");
    EXPECT_FALSE(outcome.requests[5].keep_alive);
}

TEST(RequestParserTest, GivesTheSameRequestsHoweverTheInputIsSplit) {
    std::string whole = summary(read_all(kPipeline, kPipeline.size()));
    for (size_t piece = 1; piece < 60; piece++) {
        EXPECT_EQ(summary(read_all(kPipeline, piece)), whole) << "pieces of " << piece;
    }
}

TEST(RequestParserTest, NeedsMoreAtEachTruncatedLength) {
    constexpr std::string_view kRequests[] = {
        "GET /x HTTP/1.1\r\nHost: h\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
        "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: "
        "b\r\n\r\n",
    };
    for (std::string_view input : kRequests) {
        for (size_t cut = 1; cut < input.size(); cut++) {
            RequestParser parser({});
            Request request;
            parser.feed(as_bytes(input.substr(0, cut)));
            ASSERT_EQ(parser.next(request), Status::kNeedMore) << input << " cut at " << cut;
            EXPECT_TRUE(parser.in_request());
            EXPECT_EQ(parser.in_body(), cut >= input.find("\r\n\r\n") + 4);
            parser.feed(as_bytes(input.substr(cut)));
            ASSERT_EQ(parser.next(request), Status::kRequest) << input << " cut at " << cut;
            EXPECT_FALSE(parser.in_request());
        }
    }
}

struct MalformedCase {
    const char* what;
    std::string input;
    int status;
};

std::string with_field(std::string_view field, std::string_view method = "GET") {
    return fmt::format("{} / HTTP/1.1\r\nHost: h\r\n{}\r\n\r\n", method, field);
}

std::vector<MalformedCase> malformed_cases() {
    std::string many_fields = "GET / HTTP/1.1\r\nHost: h\r\n";
    for (int i = 0; i < 100; i++) {
        many_fields += fmt::format("X-{}: y\r\n", i);
    }
    std::string many_parameters = "GET /?";
    for (int i = 0; i < 65; i++) {
        many_parameters += "a=b&";
    }
    return {
        {"nothing like HTTP", "\x03\x00\x00\x01garbage"s, 400},
        {"TLS hello", "\x16\x03\x01\x02\x00\x01"s, 400},
        {"space first", " GET / HTTP/1.1\r\n\r\n", 400},
        {"one word", "GET\r\n\r\n", 400},
        {"no version (HTTP/0.9)", "GET /\r\n\r\n", 400},
        {"two spaces", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"lower-case protocol", "GET / http/1.1\r\nHost: h\r\n\r\n", 400},
        {"version 1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505},
        {"version 2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        {"version 3", "GET / HTTP/3\r\nHost: h\r\n\r\n", 400},
        {"unknown method", "BREW /pot HTTP/1.1\r\nHost: h\r\n\r\n", 501},
        {"lower-case method", "get / HTTP/1.1\r\nHost: h\r\n\r\n", 501},
        {"CONNECT", "CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 501},
        {"TRACE", "TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", 501},
        {"endless method", std::string(40, 'A'), 501},
        {"bare LF in the line", "GET / HTTP/1.1\nHost: h\n\n", 400},
        {"bare LF in a field", "GET / HTTP/1.1\r\nHost: h\n\r\n", 400},
        {"CR inside a field", "GET / HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n", 400},
        {"NUL in a field", "GET / HTTP/1.1\r\nHost: h\r\nA: b\0c\r\n\r\n"s, 400},
        {"no colon", with_field("Nonsense"), 400},
        {"empty name", with_field(": x"), 400},
        {"space before the colon", with_field("Name : x"), 400},
        {"folded first field", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400},
        {"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
        {"two Hosts", with_field("Host: other"), 400},
        {"target without slash", "GET index.html HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"asterisk for GET", "GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"broken escape", "GET /%4 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"NUL in the path", "GET /a%00b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"CR LF in the path", "GET /a%0d%0ab HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"climbing out", "GET /../etc/passwd HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"climbing out, encoded", "GET /a/%2e%2e/%2E./x HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"climbing out, encoded slash", "GET /..%2fx HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"fragment", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"too many parameters", many_parameters + " HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"long line", "GET /" + std::string(8 * 1024, 'a'), 414},
        {"long query", "GET /?" + std::string(9 * 1024, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n", 414},
        {"long field", "GET / HTTP/1.1\r\nX: " + std::string(16 * 1024, 'a'), 431},
        {"many fields", many_fields + "\r\n", 431},
        {"POST without length", with_field("Content-Type: a/b", "POST"), 411},
        {"length no number", with_field("Content-Length: x", "POST"), 400},
        {"length negative", with_field("Content-Length: -1", "POST"), 400},
        {"length signed", with_field("Content-Length: +1", "POST"), 400},
        {"length too large for a number",
         with_field("Content-Length: 99999999999999999999", "POST"), 400},
        {"two lengths", with_field("Content-Length: 1\r\nContent-Length: 2", "POST"), 400},
        {"body over the limit", with_field("Content-Length: 65537", "POST"), 413},
        {"length and coding", with_field("Content-Length: 3\r\nTransfer-Encoding: chunked", "POST"),
         400},
        {"coding and length", with_field("Transfer-Encoding: chunked\r\nContent-Length: 3", "POST"),
         400},
        {"unknown coding", with_field("Transfer-Encoding: gzip", "POST"), 501},
        {"two codings", with_field("Transfer-Encoding: gzip, chunked", "POST"), 501},
        {"coding in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"chunk size no number", with_field("Transfer-Encoding: chunked", "POST") + "x\r\n", 400},
        {"chunk size too large", with_field("Transfer-Encoding: chunked", "POST") + "10001\r\n",
         413},
        {"chunk longer than said",
         with_field("Transfer-Encoding: chunked", "POST") + "1\r\nabc\r\n0\r\n\r\n", 400},
        {"broken chunk extension",
         with_field("Transfer-Encoding: chunked", "POST") + "1 x\r\na\r\n", 400},
        {"endless chunk extension",
         with_field("Transfer-Encoding: chunked", "POST") + "1;" + std::string(17 * 1024, 'x'),
         400},
        {"endless trailers",
         with_field("Transfer-Encoding: chunked", "POST") +
             "0\r\nX: " + std::string(17 * 1024, 'x'),
         400},
        {"unknown expectation", with_field("Expect: a-miracle"), 417},
    };
}

TEST(RequestParserTest, RefusesMalformedRequestsWithTheRightStatus) {
    for (const MalformedCase& c : malformed_cases()) {
        EXPECT_EQ(read_all(c.input, c.input.size()).error_status, c.status) << c.what;
        EXPECT_EQ(read_all(c.input, 1).error_status, c.status) << c.what << ", one byte at a time";
    }
}

// Every input whole, in two pieces cut at each byte, and in pieces of one size.
void expect_same_however_cut(std::string_view input, const RequestLimits& limits) {
    const std::string whole = summary(read_all(input, input.size(), limits));
    for (size_t cut = 1; cut < input.size(); cut++) {
        ASSERT_EQ(summary(read_all(input, input.size(), limits, cut)), whole)
            << "cut at " << cut << ": " << input;
    }
    for (const size_t piece : {1U, 2U, 3U, 7U}) {
        ASSERT_EQ(summary(read_all(input, piece, limits)), whole)
            << "pieces of " << piece << ": " << input;
    }
}

TEST(RequestParserTest, ComesToTheSameEndWhereverTheInputIsCut) {
    const RequestLimits limits{.request_line_bytes = 128,
                               .header_bytes = 256,
                               .header_fields = 6,
                               .body_bytes = 64,
                               .chunk_head_bytes = 32};
    expect_same_however_cut(kPipeline, limits);
    const std::string chunked = with_field("Transfer-Encoding: chunked", "POST");
    for (const size_t size : {20U, 26U, 27U, 28U, 29U, 30U, 31U, 32U, 40U, 90U}) {
        const std::string extension(size, 'e');
        expect_same_however_cut(chunked + "1;" + extension + "\r\na\r\n0\r\n\r\n", limits);
        expect_same_however_cut(chunked + "1\r\na\r\n0;" + extension + "\r\n\r\n", limits);
        expect_same_however_cut(chunked + "0\r\nA: " + extension + "\r\n\r\n", limits);
    }
    for (const std::string_view line : {"GET / H", "GET / HTTP/", "GET / HTTP/1.", "GET /", "GET ",
                                        "GET", "GET / HTTP/2.0", "GET / HTTP/1.11"}) {
        for (const std::string_view rest : {"", "x", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"}) {
            expect_same_however_cut(fmt::format("{}\r\n\r\n{}", line, rest), limits);
        }
    }
    for (const MalformedCase& c : malformed_cases()) {
        if (c.input.size() < 600) {
            expect_same_however_cut(c.input, limits);
        }
    }
}

// Beast asks for eight bytes of a version, and the head has no more.
TEST(RequestParserTest, DoesNotWaitForMoreOfACompleteHead) {
    for (const std::string_view input :
         {"GET / H\r\n\r\n", "GET / HTT\r\n\r\n", "GET / HTTP\r\nA: b\r\n\r\n"}) {
        EXPECT_EQ(read_all(input, input.size()).error_status, 400) << input;
    }
}

TEST(RequestParserTest, RefusesGarbageAtItsFirstByte) {
    EXPECT_EQ(read_all("\x16", 1).error_status, 400);
    EXPECT_EQ(read_all("GE\x01", 1).error_status, 400);
}

TEST(RequestParserTest, TakesWhatIsExactlyAtTheLimits) {
    RequestLimits limits;
    std::string line = "GET /" + std::string(limits.request_line_bytes - 16, 'a') + " HTTP/1.1\r\n";
    ASSERT_EQ(line.size(), limits.request_line_bytes);
    EXPECT_EQ(read_all(line + "Host: h\r\n\r\n", 1000).requests.size(), 1U);

    std::string fields = "Host: h\r\nX: " + std::string(limits.header_bytes - 16, 'a') + "\r\n\r\n";
    ASSERT_EQ(fields.size(), limits.header_bytes);
    EXPECT_EQ(read_all("GET / HTTP/1.1\r\n" + fields, 1000).requests.size(), 1U);

    std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
    for (size_t i = 1; i < limits.header_fields; i++) {
        many += "A: b\r\n";
    }
    EXPECT_EQ(read_all(many + "\r\n", 1000).requests.size(), 1U);

    std::string body(limits.body_bytes, 'b');
    Outcome outcome = read_all(with_field("Content-Length: 65536", "POST") + body, 1000);
    ASSERT_EQ(outcome.requests.size(), 1U);
    EXPECT_EQ(outcome.requests[0].body, body);
}

TEST(RequestParserTest, LimitsTheSumOfTheChunks) {
    std::string input = with_field("Transfer-Encoding: chunked", "POST");
    for (int i = 0; i < 65; i++) {
        input += "400\r\n" + std::string(1024, 'c') + "\r\n";
    }
    EXPECT_EQ(read_all(input, 4096).error_status, 413);
}

TEST(RequestParserTest, RefusesALongBodyBeforeItArrives) {
    RequestParser parser({});
    Request request;
    parser.feed(as_bytes(with_field("Content-Length: 1000000", "POST")));
    EXPECT_EQ(parser.next(request), Status::kError);
    EXPECT_EQ(parser.error().status, 413);
}

// The last chunk in pieces of which the first holds less than five bytes: Beast's own assertion
// would end the process.
TEST(RequestParserTest, TakesTheLastChunkInTinyPieces) {
    for (std::string_view chunks : {"0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "0\r\nA: b\r\n\r\n"}) {
        std::string input = with_field("Transfer-Encoding: chunked", "POST") + std::string(chunks);
        EXPECT_EQ(read_all(input, 1).requests.size(), 1U) << chunks;
    }
}

TEST(RequestParserTest, AsksForContinueOnce) {
    RequestParser parser({});
    Request request;
    parser.feed(as_bytes(with_field("Expect: 100-Continue\r\nContent-Length: 3", "POST")));
    ASSERT_EQ(parser.next(request), Status::kNeedMore);
    EXPECT_TRUE(parser.take_expects_continue());
    EXPECT_FALSE(parser.take_expects_continue());
    parser.feed(as_bytes("abc"));
    ASSERT_EQ(parser.next(request), Status::kRequest);
    EXPECT_EQ(request.body, "abc");
}

TEST(RequestParserTest, AsksForContinueWhileTheBodyIsIncomplete) {
    RequestParser parser({});
    Request request;
    parser.feed(as_bytes(with_field("Expect: 100-continue\r\nContent-Length: 3", "POST") + "ab"));
    ASSERT_EQ(parser.next(request), Status::kNeedMore);
    parser.feed({});
    ASSERT_EQ(parser.next(request), Status::kNeedMore);
    EXPECT_TRUE(parser.take_expects_continue())
        << "the two bytes are consumed, the client may still wait";
    parser.feed(as_bytes("c"));
    EXPECT_EQ(parser.next(request), Status::kRequest);
    EXPECT_FALSE(parser.take_expects_continue());
}

TEST(RequestParserTest, IgnoresAnExpectationInHttp10) {
    EXPECT_EQ(read_all("GET / HTTP/1.0\r\nExpect: a-miracle\r\n\r\n", 100).requests.size(), 1U);
}

TEST(RequestParserTest, GivesTheBytesAfterTheRequest) {
    std::string input = "GET /live/a.flv HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\r\n";
    RequestParser parser({});
    Request request;
    parser.feed(as_bytes(input + "\x81\x85 frame"));
    ASSERT_EQ(parser.next(request), Status::kRequest);
    EXPECT_EQ(as_text(parser.take_unread()), "\x81\x85 frame");
    EXPECT_TRUE(parser.take_unread().empty());
}

TEST(RequestParserTest, TakesAbsoluteTargets) {
    Request request = only_request("GET http://other.example:81/a?b=c HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(request.path, "/a");
    EXPECT_EQ(request.host, "other.example:81");
}

TEST(RequestParserTest, DecidesAboutKeepAlive) {
    EXPECT_TRUE(only_request("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
    EXPECT_FALSE(only_request("GET / HTTP/1.0\r\n\r\n").keep_alive);
    EXPECT_FALSE(only_request(with_field("Connection: foo, Close")).keep_alive);
}

TEST(RequestParserTest, StaysInErrorWhateverFollows) {
    RequestParser parser({});
    Request request;
    parser.feed(as_bytes("\x01"));
    EXPECT_EQ(parser.next(request), Status::kError);
    parser.feed(as_bytes("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_EQ(parser.next(request), Status::kError);
}

TEST(RequestParserTest, IsIdleBetweenRequests) {
    RequestParser parser({});
    Request request;
    EXPECT_FALSE(parser.in_request());
    parser.feed(as_bytes("\r\n"));
    EXPECT_EQ(parser.next(request), Status::kNeedMore);
    EXPECT_FALSE(parser.in_request()) << "empty lines are no request";
    parser.feed(as_bytes("G"));
    EXPECT_EQ(parser.next(request), Status::kNeedMore);
    EXPECT_TRUE(parser.in_request());
}

}  // namespace
}  // namespace weir::http
