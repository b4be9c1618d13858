#include "proto/sip/message.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "proto/sip/stream_reader.h"

namespace weir::sip {
namespace {

const std::string kOptions =
    "OPTIONS sip:a@h SIP/2.0\r\nv: SIP/2.0/UDP h;branch=z9hG4bKx\r\nf: <sip:b@h>;tag=1\r\n"
    "t:\r\n <sip:a@h>\r\ni: id\r\nCSeq: 1 OPTIONS\r\nl: 4\r\n\r\nbodyrest";

TEST(SipMessageTest, ReadsADatagram) {
    Parsed parsed = parse_datagram(as_bytes(kOptions));
    ASSERT_EQ(parsed.kind, Parsed::Kind::kMessage);
    const auto& request = std::get<Request>(parsed.message);
    EXPECT_EQ(request.method, Method::kOptions);
    EXPECT_EQ(request.uri, "sip:a@h");
    EXPECT_EQ(request.header("To"), "<sip:a@h>");
    EXPECT_EQ(request.header("Call-ID"), "id");
    EXPECT_TRUE(request.headers.has("Via"));
    EXPECT_EQ(request.body, "body");  // what follows is ignored
}

TEST(SipMessageTest, TakesTheRestAsTheBodyWithoutALength) {
    Parsed parsed = parse_datagram(as_bytes("SIP/2.0 200 OK\r\nA: b\r\n\r\nrest"));
    ASSERT_EQ(parsed.kind, Parsed::Kind::kMessage);
    EXPECT_EQ(std::get<Response>(parsed.message).body, "rest");
}

TEST(SipMessageTest, KnowsKeepAlives) {
    for (const std::string_view text : {"", "\r\n", "\r\n\r\n"}) {
        EXPECT_EQ(parse_datagram(as_bytes(text)).kind, Parsed::Kind::kKeepAlive);
    }
}

struct Bad {
    std::string text;
    int status;
};

TEST(SipMessageTest, SaysHowToAnswerWhatIsMalformed) {
    const std::string start = "OPTIONS sip:a@h SIP/2.0\r\n";
    std::string many = start;
    for (size_t i = 0; i <= kMaxFields; i++) {
        many += "A: b\r\n";
    }
    const Bad cases[] = {
        {start + "A: b\r\nContent-Length: 5\r\n\r\nbody", 400},
        {start + "Content-Length: -1\r\n\r\n", 400},
        {start + "Content-Length: 1\r\nl: 2\r\n\r\nab", 400},
        {start + "A b\r\n\r\n", 400},
        {start + " A: b\r\n\r\n", 400},
        {start + "A: b\r\n", 0},  // no end of the head
        {"OPTIONS sip:a@h SIP/3.0\r\n\r\n", 505},
        {"OPTIONS sip:a@h\r\n\r\n", 400},
        {"OPTIONS  sip:a@h SIP/2.0\r\n\r\n", 400},
        {"OPTIONS sip:a@h; lr SIP/2.0\r\n\r\n", 400},
        {"OPTIONS <sip:a@h> SIP/2.0\r\n\r\n", 400},
        {"OP(IONS sip:a@h SIP/2.0\r\n\r\n", 400},
        {"OPTIONS sip:" + std::string(kMaxFirstLine, 'a') + " SIP/2.0\r\n\r\n", 414},
        {"SIP/2.0 99 x\r\n\r\n", 0},
        {"SIP/2.0 4294967301 x\r\n\r\n", 0},
        {"SIP/2.0 200 OK\r\nContent-Length: 9\r\n\r\n", 0},
        {start + "A: " + std::string(kMaxHeadBytes, 'x') + "\r\n\r\n", 0},
        {start + "\r\n" + std::string(kMaxMessageBytes, 'x'), 0},
        {many + "\r\n", 400},
    };
    for (const Bad& bad : cases) {
        const Parsed parsed = parse_datagram(as_bytes(bad.text));
        EXPECT_EQ(parsed.kind, Parsed::Kind::kMalformed) << bad.text.substr(0, 80);
        EXPECT_EQ(parsed.status, bad.status) << bad.text.substr(0, 80);
    }
}

TEST(SipMessageTest, EveryCutOfADatagramIsRefused) {
    const std::string whole = kOptions.substr(0, kOptions.size() - 4);
    for (size_t size = 1; size < whole.size(); size++) {
        EXPECT_EQ(parse_datagram(as_bytes(whole.substr(0, size))).kind, Parsed::Kind::kMalformed);
    }
}

TEST(SipMessageTest, WritesAndReadsTheSame) {
    Request request;
    request.method = Method::kInvite;
    request.uri = "sip:a@h";
    request.headers = {{"Call-ID", "x"}, {"Content-Length", "99"}};
    request.body = "v=0\r\n";
    EXPECT_EQ(write(request),
              "INVITE sip:a@h SIP/2.0\r\nCall-ID: x\r\nContent-Length: 5\r\n\r\nv=0\r\n");
    Response response;
    response.status = 180;
    EXPECT_EQ(write(response), "SIP/2.0 180 Ringing\r\nContent-Length: 0\r\n\r\n");
    Parsed parsed = parse_datagram(as_bytes(write(request)));
    EXPECT_EQ(write(parsed.message), write(request));
}

TEST(SipMessageTest, LetsNoValueSplitTheHead) {
    Response response;
    response.reason = "OK\r\nInjected: 1";
    response.headers = {{"A", "b\r\nInjected: 1"}, {"Bad Name", "x"}, {"", "x"}};
    EXPECT_EQ(write(response),
              "SIP/2.0 200 OK  Injected: 1\r\nA: b  Injected: 1\r\nContent-Length: 0\r\n\r\n");
    Request request;
    request.method_name = "BAD METHOD";
    request.uri = "sip:a b\r\nX: y";
    EXPECT_EQ(write(request), "UNKNOWN sip:a%20b%0D%0AX:%20y SIP/2.0\r\nContent-Length: 0\r\n\r\n");
}

// What a reader makes of pieces of that size, as text.
std::string outcome_of(std::string_view input, size_t piece) {
    StreamReader reader;
    std::string out;
    while (!input.empty()) {
        ByteSpan part = as_bytes(input.substr(0, piece));
        input.remove_prefix(std::min(piece, input.size()));
        for (;;) {
            const StreamReader::Status status = reader.next(part);
            if (status == StreamReader::Status::kNeedMore) {
                EXPECT_TRUE(part.empty());
                break;
            }
            if (status == StreamReader::Status::kError) {
                return out + "error " + std::to_string(reader.parsed().status);
            }
            out += status == StreamReader::Status::kPing ? "ping|"
                                                         : write(reader.parsed().message) + "|";
        }
    }
    return out + (reader.in_message() ? "within" : "between");
}

TEST(SipStreamReaderTest, GivesTheSameWhereverTheInputIsCut) {
    const std::string message = kOptions.substr(0, kOptions.size() - 4);
    const std::string input =
        "\r\n\r\n" + message + "\r\n" + message + "\r\n\r\nSIP/2.0 200 OK\nl: 0\n\nSIP/2.0";
    const std::string whole = outcome_of(input, input.size());
    EXPECT_EQ(whole.substr(0, 12), "ping|OPTIONS");
    EXPECT_TRUE(whole.ends_with("|within")) << whole;
    for (size_t piece = 1; piece < 60; piece++) {
        EXPECT_EQ(outcome_of(input, piece), whole) << piece;
    }
}

TEST(SipStreamReaderTest, StopsAtWhatItCannotRead) {
    const std::string start = "OPTIONS sip:a@h SIP/2.0\r\n";
    EXPECT_EQ(outcome_of(start + "A: b\r\n\r\n", 9), "error 400");  // no Content-Length
    EXPECT_EQ(outcome_of(start + "l: 70000\r\n\r\n", 9), "error 513");
    EXPECT_EQ(outcome_of(start + "A: " + std::string(kMaxHeadBytes, 'x'), 99), "error 0");
    EXPECT_EQ(outcome_of("GET / HTTP/1.1\r\n\r\n", 99), "error 400");
    StreamReader reader;
    ByteSpan input = as_bytes("x\r\n\r\n");
    EXPECT_EQ(reader.next(input), StreamReader::Status::kError);
    EXPECT_EQ(reader.next(input), StreamReader::Status::kError);
}

}  // namespace
}  // namespace weir::sip
