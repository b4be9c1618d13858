#include "proto/rtsp/connection_reader.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::rtsp {
namespace {

using Status = ConnectionReader::Status;

std::string frame_bytes(uint8_t channel, std::string_view payload) {
    std::string out = "$";
    out += static_cast<char>(channel);
    out += static_cast<char>(payload.size() >> 8U);
    out += static_cast<char>(payload.size());
    out += payload;
    return out;
}

// One line for each item, in the order of their arrival.
std::vector<std::string> items_of(std::string_view input, size_t piece) {
    ConnectionReader reader;
    std::vector<std::string> items;
    for (size_t at = 0; at < input.size(); at += piece) {
        ByteSpan rest = as_bytes(input.substr(at, piece));
        for (;;) {
            const Status status = reader.next(rest);
            if (status == Status::kNeedMore) {
                EXPECT_TRUE(rest.empty());
                break;
            }
            if (status == Status::kError) {
                const ReadError& error = reader.error();
                items.push_back(fmt::format("error {} {} {}", error.status,
                                            error.cseq ? fmt::format("{}", *error.cseq) : "-",
                                            error.reason));
                return items;
            }
            if (status == Status::kRequest) {
                const Request& request = reader.request();
                items.push_back(fmt::format(
                    "{} {} cseq={} body={}", request.method_name, request.url,
                    request.cseq ? fmt::format("{}", *request.cseq) : "-", request.body));
            } else if (status == Status::kResponse) {
                const Response& response = reader.response();
                items.push_back(fmt::format(
                    "{} {} cseq={} body={}", response.status, response.reason,
                    response.cseq ? fmt::format("{}", *response.cseq) : "-", response.body));
            } else if (status == Status::kFrame) {
                items.push_back(fmt::format("frame {} {}", reader.frame().channel,
                                            as_text(reader.frame().payload)));
            } else {
                items.push_back(fmt::format("http {} {} {}", reader.http().method,
                                            reader.http().target, reader.http().session_cookie()));
            }
        }
    }
    items.emplace_back(reader.in_message() ? "within" : "between");
    return items;
}

// The items, after making sure that they are the same for each size of pieces.
std::vector<std::string> read_all(std::string_view input) {
    std::vector<std::string> whole = items_of(input, std::max<size_t>(input.size(), 1));
    for (const size_t piece : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{64}}) {
        EXPECT_EQ(items_of(input, piece), whole) << "pieces of " << piece;
    }
    return whole;
}

using Items = std::vector<std::string>;

TEST(RtspConnectionReaderTest, ReadsRequestsAndResponsesAndFramesInTheirOrder) {
    const std::string input = "OPTIONS rtsp://h/live/a RTSP/1.0\r\nCSeq: 1\r\n\r\n" +
                              frame_bytes(0, "media") +
                              "RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: 3\r\n\r\nv=0" +
                              frame_bytes(1, "") + frame_bytes(255, "\r\n\r\n$") +
                              "SET_PARAMETER rtsp://h/ RTSP/1.0\r\nCSeq: 3\r\n"
                              "Content-Length: 6\r\n\r\na: b\r\n"
                              "TEARDOWN * RTSP/1.0\r\nCSeq: 4294967295\r\n\r\n";
    EXPECT_EQ(read_all(input), (Items{"OPTIONS rtsp://h/live/a cseq=1 body=", "frame 0 media",
                                      "200 OK cseq=2 body=v=0", "frame 1 ", "frame 255 \r\n\r\n$",
                                      "SET_PARAMETER rtsp://h/ cseq=3 body=a: b\r\n",
                                      "TEARDOWN * cseq=4294967295 body=", "between"}));
}

TEST(RtspConnectionReaderTest, KeepsFieldsAsTheyCame) {
    ConnectionReader reader;
    ByteSpan input = as_bytes(
        "SETUP rtsp://h/a RTSP/1.0\r\nCSeq: 7\r\nTransport: RTP/AVP\r\nrequire: x\r\n"
        "Require: y\r\n\r\n");
    ASSERT_EQ(reader.next(input), Status::kRequest);
    EXPECT_EQ(reader.request().method, Method::kSetup);
    EXPECT_EQ(reader.request().headers.get("transport"), "RTP/AVP");
    EXPECT_EQ(reader.request().headers.count("REQUIRE"), 2U);
    EXPECT_EQ(reader.next(input), Status::kNeedMore);
}

TEST(RtspConnectionReaderTest, GivesAWholeFrameAsAViewOfTheInput) {
    ConnectionReader reader;
    const std::string bytes = frame_bytes(2, "payload") + frame_bytes(3, "next");
    const ByteSpan all = as_bytes(bytes);
    ByteSpan input = all;
    ASSERT_EQ(reader.next(input), Status::kFrame);
    EXPECT_EQ(reader.frame().payload.data(), all.data() + kFrameHeader);
    ASSERT_EQ(reader.next(input), Status::kFrame);
    EXPECT_EQ(reader.frame().channel, 3);
    EXPECT_EQ(reader.frame().payload.data(), all.data() + 11 + kFrameHeader);
    EXPECT_EQ(reader.next(input), Status::kNeedMore);
    EXPECT_FALSE(reader.in_message());
}

TEST(RtspConnectionReaderTest, ReadsTheHeadersThatWeWrite) {
    const std::string payload(300, 'p');
    const auto header = frame_header(200, static_cast<uint16_t>(payload.size()));
    EXPECT_EQ(read_all(std::string(as_text(header)) + payload),
              (Items{"frame 200 " + payload, "between"}));
}

TEST(RtspConnectionReaderTest, HoldsNoMessageOnceItWasRead) {
    ConnectionReader reader;
    const std::string text =
        "SET_PARAMETER * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 50000\r\n\r\n" +
        std::string(50000, 'b');
    ByteSpan input = as_bytes(text);
    ASSERT_EQ(reader.next(input), Status::kRequest);
    EXPECT_EQ(reader.request().body.size(), 50000U);
    EXPECT_TRUE(reader.holds_message());
    EXPECT_EQ(reader.next(input), Status::kNeedMore);
    EXPECT_FALSE(reader.holds_message());
}

TEST(RtspConnectionReaderTest, LetsGoOfAMessageWhenItIsTold) {
    ConnectionReader reader;
    ByteSpan input = as_bytes("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\nOPT");
    ASSERT_EQ(reader.next(input), Status::kRequest);
    reader.release_message();
    EXPECT_FALSE(reader.holds_message());
    EXPECT_EQ(reader.next(input), Status::kNeedMore);
    reader.release_message();  // of one that is half there it does not
    EXPECT_TRUE(reader.in_message());
    ByteSpan rest = as_bytes("IONS * RTSP/1.0\r\nCSeq: 2\r\n\r\n");
    EXPECT_EQ(reader.next(rest), Status::kRequest);
    EXPECT_EQ(reader.request().cseq, 2U);
}

TEST(RtspConnectionReaderTest, ReadsTheLongestFrame) {
    const std::string payload(65535, 'p');
    EXPECT_EQ(read_all(frame_bytes(9, payload)), (Items{"frame 9 " + payload, "between"}));
}

TEST(RtspConnectionReaderTest, SaysThatAMessageHasBegun) {
    const std::string input = "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 2\r\n\r\nab";
    for (size_t size = 1; size < input.size(); size++) {
        EXPECT_EQ(items_of(input.substr(0, size), size), Items{"within"}) << size;
    }
    const std::string frame = frame_bytes(0, "ab");
    for (size_t size = 1; size < frame.size(); size++) {
        EXPECT_EQ(items_of(frame.substr(0, size), size), Items{"within"}) << size;
    }
}

// What cameras and clients in the field send.
TEST(RtspConnectionReaderTest, ToleratesWhatCamerasSend) {
    struct Case {
        std::string_view what;
        std::string input;
        Items items;
    };

    const Case cases[] = {
        {"lines that end in LF alone",
         "OPTIONS * RTSP/1.0\nCSeq: 1\n\n",
         {"OPTIONS * cseq=1 body=", "between"}},
        {"field names in lower case",
         "PLAY * RTSP/1.0\r\ncseq: 2\r\ncontent-length: 1\r\n\r\nx",
         {"PLAY * cseq=2 body=x", "between"}},
        {"blanks around the colon",
         "PLAY * RTSP/1.0\r\nCSeq \t:\t 2  \r\n\r\n",
         {"PLAY * cseq=2 body=", "between"}},
        {"no blank after the colon",
         "PLAY * RTSP/1.0\r\nCSeq:2\r\n\r\n",
         {"PLAY * cseq=2 body=", "between"}},
        {"zeros in front of CSeq",
         "RTSP/1.0 200 OK\r\nCSeq: 0002\r\n\r\n",
         {"200 OK cseq=2 body=", "between"}},
        {"empty lines between messages",
         "\r\n\r\nPLAY * RTSP/1.0\r\nCSeq: 1\r\n\r\n\r\n\n\r\r\n$" + std::string("\0\0\1x", 4) +
             "\r\n",
         {"PLAY * cseq=1 body=", "frame 0 x", "between"}},
        {"more blanks in the request line",
         "PLAY   rtsp://h/a   RTSP/1.0 \r\nCSeq: 1\r\n\r\n",
         {"PLAY rtsp://h/a cseq=1 body=", "between"}},
        {"no reason", "RTSP/1.0 200\r\nCSeq: 1\r\n\r\n", {"200  cseq=1 body=", "between"}},
        {"a folded field",
         "PLAY * RTSP/1.0\r\nCSeq:\r\n 1\r\n\r\n",
         {"PLAY * cseq=1 body=", "between"}},
        {"a line of an answer that is no field",
         "RTSP/1.0 200 OK\r\nnonsense\r\nCSeq: 1\r\n: x\r\n\r\n",
         {"200 OK cseq=1 body=", "between"}},
        {"frames within an answer",
         "RTSP/1.0 200 OK\r\n" + frame_bytes(0, "a") + "CSeq: 1\r\n" + frame_bytes(1, "b\r\n") +
             "Content-Length: 2\r\n\r\n" + frame_bytes(0, "c") + frame_bytes(0, "d") + "v=",
         {"frame 0 a", "frame 1 b\r\n", "frame 0 c", "frame 0 d",
          "200 OK cseq=1 body=v=", "between"}},
        {"the same length twice",
         "PLAY * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
         {"PLAY * cseq=1 body=x", "between"}},
        {"a URL in UTF-8",
         "PLAY rtsp://h/\xc3\xa4 RTSP/1.0\r\nCSeq: 1\r\n\r\n",
         {"PLAY rtsp://h/\xc3\xa4 cseq=1 body=", "between"}},
        {"a minor version that does not exist",
         "PLAY * RTSP/1.1\r\nCSeq: 1\r\n\r\n",
         {"PLAY * cseq=1 body=", "between"}},
    };
    for (const Case& each : cases) {
        EXPECT_EQ(read_all(each.input), each.items) << each.what;
    }
}

TEST(RtspConnectionReaderTest, TellsThatCSeqIsMissing) {
    for (const std::string_view field : {"", "CSeq: \r\n", "CSeq: x\r\n", "CSeq: -1\r\n",
                                         "CSeq: 4294967296\r\n", "CSeq: 1 2\r\n"}) {
        EXPECT_EQ(read_all(fmt::format("PLAY * RTSP/1.0\r\n{}\r\n", field)),
                  (Items{"PLAY * cseq=- body=", "between"}))
            << field;
    }
}

TEST(RtspConnectionReaderTest, GivesUnknownMethodsWithTheirNames) {
    ConnectionReader reader;
    ByteSpan input = as_bytes("BREW * RTSP/1.0\r\nCSeq: 1\r\n\r\n");
    ASSERT_EQ(reader.next(input), Status::kRequest);
    EXPECT_EQ(reader.request().method, Method::kUnknown);
    EXPECT_EQ(reader.request().method_name, "BREW");
}

TEST(RtspConnectionReaderTest, RecognisesRequestsForATunnel) {
    EXPECT_EQ(read_all("GET /live/a HTTP/1.1\r\nx-sessioncookie: abc\r\n"
                       "Accept: application/x-rtsp-tunnelled\r\n\r\n"),
              (Items{"http GET /live/a abc", "between"}));
    EXPECT_EQ(read_all("GET / HTTP/1.0\nHost: h\n\n"), (Items{"http GET / ", "between"}));
    // The body is left to the caller.
    ConnectionReader reader;
    ByteSpan input = as_bytes(
        "POST /live/a HTTP/1.0\r\nX-SessionCookie: abc\r\nContent-Length: 32767\r\n\r\nT1BU");
    ASSERT_EQ(reader.next(input), Status::kHttp);
    EXPECT_EQ(reader.http().session_cookie(), "abc");
    EXPECT_EQ(as_text(input), "T1BU");
}

TEST(RtspConnectionReaderTest, SaysWhatToAnswerToWhatIsWrong) {
    struct Case {
        std::string input;
        std::string_view error;
    };

    const Case cases[] = {
        {"\x16\x03\x01", "error 400 - this is no RTSP request"},
        {" PLAY", "error 400 - this is no RTSP request"},
        {"PLAY\r\n", "error 400 - this is no RTSP request"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG", "error 400 - the method is too long"},
        {"PLAY  RTSP/1.0\r\nCSeq: 5\r\n\r\n", "error 400 5 the request line is malformed"},
        {"PLAY RTSP/1.0\r\nCSeq: 5\r\n\r\n", "error 400 5 the request line is malformed"},
        {"PLAY a b RTSP/1.0\r\nCSeq: 5\r\n\r\n", "error 400 5 the request line is malformed"},
        {"PLAY a RTSP/x.0\r\nCSeq: 5\r\n\r\n", "error 400 5 the request line is malformed"},
        {"PLAY a\rb RTSP/1.0\r\nCSeq: 5\r\n\r\n", "error 400 5 the request line is malformed"},
        {"PLAY * \r\nCSeq: 5\r\n\r\n", "error 400 5 the request line is malformed"},
        {"GET  HTTP/1.1\r\n\r\n", "error 400 - the request line is malformed"},
        {"DESCRIBE * RTSP/2.0\r\nCSeq: 5\r\n\r\n", "error 505 5 only RTSP/1.0 is spoken here"},
        {"PLAY * RTSP/1.0\r\nCSeq: 5\r\nfield\r\n\r\n", "error 400 5 a header field is malformed"},
        {"PLAY * RTSP/1.0\r\nCSeq: 5\r\n: x\r\n\r\n", "error 400 5 a header field is malformed"},
        {"PLAY * RTSP/1.0\r\nCSeq: 5\r\na b: x\r\n\r\n", "error 400 5 a header field is malformed"},
        {"PLAY * RTSP/1.0\r\nCSeq: 5\r\nx: a\rb\r\n\r\n",
         "error 400 5 a header field holds control characters"},
        {"PLAY * RTSP/1.0\r\nCSeq: 5\r\nContent-Length: x\r\n\r\n",
         "error 400 5 Content-Length is malformed"},
        {"PLAY * RTSP/1.0\r\nCSeq: 5\r\nContent-Length: -1\r\n\r\n",
         "error 400 5 Content-Length is malformed"},
        {"PLAY * RTSP/1.0\r\nCSeq: 5\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
         "error 400 5 Content-Length is malformed"},
        {"PLAY * RTSP/1.0\r\nCSeq: 5\r\nContent-Length: 65537\r\n\r\n",
         "error 413 5 the body is too long"},
        {"PLAY * RTSP/1.0\r\nCSeq: 5\r\nContent-Length: 99999999999999999999999\r\n\r\n",
         "error 413 5 the body is too long"},
        // Nobody answers a response.
        {"RTSP/2.0 200 OK\r\nCSeq: 5\r\n\r\n", "error 0 - the status line is malformed"},
        {"RTSP/1.0 20 OK\r\nCSeq: 5\r\n\r\n", "error 0 - the status line is malformed"},
        {"RTSP/1.0 0200 OK\r\nCSeq: 5\r\n\r\n", "error 0 - the status line is malformed"},
        {"RTSP/1.0 OK\r\nCSeq: 5\r\n\r\n", "error 0 - the status line is malformed"},
        {"RTSP/1.0 200 OK\r\nContent-Length: 65537\r\n\r\n", "error 0 - the body is too long"},
    };
    for (const Case& each : cases) {
        EXPECT_EQ(read_all(each.input), Items{std::string(each.error)}) << each.input;
    }
}

TEST(RtspConnectionReaderTest, ForgetsTheCSeqOfTheRequestBefore) {
    EXPECT_EQ(read_all("PLAY * RTSP/1.0\r\nCSeq: 1\r\n\r\nPLAY\r\n").back(),
              "error 400 - this is no RTSP request");
}

TEST(RtspConnectionReaderTest, StaysAtAnError) {
    ConnectionReader reader;
    ByteSpan bad = as_bytes("\x01");
    EXPECT_EQ(reader.next(bad), Status::kError);
    ByteSpan good = as_bytes("PLAY * RTSP/1.0\r\nCSeq: 1\r\n\r\n");
    EXPECT_EQ(reader.next(good), Status::kError);
    EXPECT_EQ(reader.error().status, 400);
}

TEST(RtspConnectionReaderTest, HoldsItsLimitsToTheByte) {
    const auto with_url = [](size_t line_bytes) {
        return "PLAY " + std::string(line_bytes - 16, 'u') + " RTSP/1.0\r\n\r\n";
    };
    EXPECT_EQ(read_all(with_url(kMaxStartLine)).size(), 2U);
    EXPECT_EQ(read_all(with_url(kMaxStartLine + 1)),
              Items{"error 414 - the first line is too long"});

    const auto with_fields = [](size_t bytes) {
        return "PLAY * RTSP/1.0\r\nx: " + std::string(bytes - 7, 'v') + "\r\n\r\n";
    };
    EXPECT_EQ(read_all(with_fields(kMaxFieldBytes)).size(), 2U);
    EXPECT_EQ(read_all(with_fields(kMaxFieldBytes + 1)),
              Items{"error 400 - the header fields are too long"});

    const auto with_lines = [](size_t count) {
        std::string out = "PLAY * RTSP/1.0\r\n";
        for (size_t i = 0; i < count; i++) {
            out += "x: y\r\n";
        }
        return out + "\r\n";
    };
    EXPECT_EQ(read_all(with_lines(kMaxHeaderFields)).size(), 2U);
    EXPECT_EQ(read_all(with_lines(kMaxHeaderFields + 1)),
              Items{"error 400 - there are too many header fields"});

    const std::string body(kMaxBodyBytes, 'b');
    EXPECT_EQ(read_all(fmt::format("ANNOUNCE * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: {}\r\n\r\n{}",
                                   body.size(), body)),
              (Items{"ANNOUNCE * cseq=1 body=" + body, "between"}));
}

TEST(RtspConnectionReaderTest, RefusesAnEndlessHeadOfAResponseWithoutAnAnswer) {
    EXPECT_EQ(read_all("RTSP/1.0 200 " + std::string(kMaxStartLine, 'x')),
              Items{"error 0 - the first line is too long"});
}

}  // namespace
}  // namespace weir::rtsp
