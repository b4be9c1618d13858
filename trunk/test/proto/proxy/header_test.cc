#include "proto/proxy/header.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir::proxy {
namespace {

using Status = HeaderReader::Status;

constexpr std::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);

// Feeds as a connection would: never more than is wanted. Gives what is left of `input`.
struct Outcome {
    Status status = Status::kNeedMore;
    Header header;
    std::string error;
    size_t used = 0;
};

Outcome read(std::string_view input, size_t piece = SIZE_MAX) {
    HeaderReader reader;
    Outcome outcome;
    while (outcome.status == Status::kNeedMore && outcome.used < input.size()) {
        EXPECT_GT(reader.wanted(), 0U);
        const size_t size = std::min({piece, reader.wanted(), input.size() - outcome.used});
        outcome.status = reader.feed(as_bytes(input.substr(outcome.used, size)));
        outcome.used += size;
    }
    outcome.header = reader.header();
    outcome.error = reader.error();
    return outcome;
}

std::string binary(uint8_t command, uint8_t family, std::string_view body) {
    std::string header(kSignature);
    header += static_cast<char>(0x20 | command);
    header += static_cast<char>(family);
    header += static_cast<char>(body.size() >> 8);
    header += static_cast<char>(body.size() & 0xff);
    return header.append(body);
}

const std::string kV4Body("\xc0\x00\x02\x01\x0a\x00\x00\x07\x10\x92\x07\x8f", 12);

TEST(ProxyHeaderTest, ReadsTextOfBothFamilies) {
    const Outcome v4 = read("PROXY TCP4 192.0.2.1 10.0.0.7 4242 1935\r\nrest");
    ASSERT_EQ(v4.status, Status::kDone) << v4.error;
    EXPECT_EQ(v4.header.version, 1);
    EXPECT_EQ(v4.header.source.to_string(), "192.0.2.1:4242");
    EXPECT_EQ(v4.header.destination.to_string(), "10.0.0.7:1935");
    EXPECT_EQ(v4.used, std::string_view("PROXY TCP4 192.0.2.1 10.0.0.7 4242 1935\r\n").size());
    const Outcome v6 = read("PROXY TCP6 2001:db8::1 ::1 4242 1935\r\n");
    ASSERT_EQ(v6.status, Status::kDone) << v6.error;
    EXPECT_EQ(v6.header.source.to_string(), "[2001:db8::1]:4242");
}

TEST(ProxyHeaderTest, UnknownHasNoAddressWhateverFollows) {
    for (const char* line : {"PROXY UNKNOWN\r\n", "PROXY UNKNOWN ffff::1 x y z 1 2 3\r\n"}) {
        const Outcome outcome = read(line);
        ASSERT_EQ(outcome.status, Status::kDone) << outcome.error;
        EXPECT_TRUE(outcome.header.source.empty());
        EXPECT_FALSE(outcome.header.local);
    }
}

TEST(ProxyHeaderTest, ReadsBinaryAndSkipsWhatIsBehindTheAddresses) {
    const Outcome v4 = read(binary(1, 0x11,
                                   kV4Body + std::string("\x03\x00\x04"
                                                         "abcd",
                                                         7)) +
                            "GET /");
    ASSERT_EQ(v4.status, Status::kDone) << v4.error;
    EXPECT_EQ(v4.header.version, 2);
    EXPECT_EQ(v4.header.source.to_string(), "192.0.2.1:4242");
    EXPECT_EQ(v4.header.destination.to_string(), "10.0.0.7:1935");
    EXPECT_EQ(v4.used, 16U + 12U + 7U);
    std::string v6(32, '\0');
    v6[0] = 0x20;
    v6[15] = 1;
    v6 += std::string("\x10\x92\x07\x8f", 4);
    const Outcome outcome = read(binary(1, 0x21, v6));
    ASSERT_EQ(outcome.status, Status::kDone) << outcome.error;
    EXPECT_EQ(outcome.header.source.to_string(), "[2000::1]:4242");
}

TEST(ProxyHeaderTest, LocalAndFamiliesWithoutAddress) {
    const Outcome local = read(binary(0, 0x00, ""));
    ASSERT_EQ(local.status, Status::kDone) << local.error;
    EXPECT_TRUE(local.header.local);
    EXPECT_TRUE(read(binary(0, 0x11, kV4Body)).header.source.empty()) << "LOCAL has no addresses";
    const Outcome unspecified = read(binary(1, 0x00, "xyz"));
    ASSERT_EQ(unspecified.status, Status::kDone) << unspecified.error;
    EXPECT_FALSE(unspecified.header.local);
    EXPECT_TRUE(unspecified.header.source.empty());
    const Outcome unix_socket = read(binary(1, 0x31, std::string(216, 'x')));
    ASSERT_EQ(unix_socket.status, Status::kDone) << unix_socket.error;
    EXPECT_TRUE(unix_socket.header.source.empty());
}

TEST(ProxyHeaderTest, ReadsTheSameByteByByteAndNeverMoreThanTheHeader) {
    const std::string inputs[] = {"PROXY TCP4 192.0.2.1 10.0.0.7 4242 1935\r\n",
                                  "PROXY UNKNOWN\r\n", binary(1, 0x11, kV4Body + "tlv"),
                                  binary(0, 0, "")};
    for (const std::string& input : inputs) {
        const Outcome whole = read(input + "next protocol");
        for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}}) {
            const Outcome cut = read(input + "next protocol", piece);
            EXPECT_EQ(cut.status, Status::kDone);
            EXPECT_EQ(cut.used, input.size());
            EXPECT_EQ(cut.header.source, whole.header.source);
        }
        for (size_t size = 0; size < input.size(); size++) {
            EXPECT_EQ(read(std::string_view(input).substr(0, size)).status, Status::kNeedMore);
        }
    }
}

// A line's end where the reader does not expect it, and lines around the limit: whole, cut at each
// byte, and in pieces of each size.
TEST(ProxyHeaderTest, ComesToTheSameEndWhereverTheInputIsCut) {
    std::vector<std::string> inputs = {
        "PROXY UNKNOWN\n\r\nGET / HTTP/1.1\r\n",
        "PROXY UNKNOWN \n\r\nGET / HTTP/1.1\r\n",
        "PROXY UNKNOWN ab\nc\r\nGET / HTTP/1.1\r\n",
        "PROXY UNKNOWN abc\nd\r\nGET / HTTP/1.1\r\n",
        "PROXY UNKNOWN a\r\r\nGET / HTTP/1.1\r\n",
        "PROXY UNKNOWN a\rb\r\nGET / HTTP/1.1\r\n",
        "PROXY TCP4 192.0.2.1 10.0.0.7 4242 1935\n\r\nGET /",
        "PROXY TCP4 192.0.2.1 10.0.0.7 4242 193\n5\r\nGET /",
        "PROXY \r\nGET / HTTP/1.1\r\n",
        "PROXY\nTCP4 192.0.2.1 10.0.0.7\r\n",
    };
    for (size_t size = 100; size < 112; size++) {
        const std::string start = "PROXY UNKNOWN ";
        for (const std::string_view end : {"\r\n", "\n", "\r\r\n", "\n\n"}) {
            const std::string fill(size - start.size() - end.size(), 'x');
            inputs.push_back(start + fill + std::string(end) + "GET / HTTP/1.1\r\n");
        }
    }
    for (const std::string& input : inputs) {
        const Outcome bytes = read(input, 1);
        EXPECT_NE(bytes.status, Status::kNeedMore) << input;
        for (size_t piece = 2; piece <= input.size(); piece++) {
            const Outcome cut = read(input, piece);
            ASSERT_EQ(cut.status, bytes.status) << "pieces of " << piece << ": " << input;
            ASSERT_EQ(cut.error, bytes.error) << "pieces of " << piece << ": " << input;
        }
        if (bytes.status == Status::kDone) {
            EXPECT_EQ(bytes.used, input.find('\n') + 1) << input;
            EXPECT_LE(bytes.used, HeaderReader::kMaxText);
        }
    }
    EXPECT_EQ(read("PROXY UNKNOWN " + std::string(91, 'x') + "\r\n").status, Status::kDone);
    EXPECT_EQ(read("PROXY UNKNOWN " + std::string(92, 'x') + "\r\n").status, Status::kMalformed);
}

TEST(ProxyHeaderTest, RefusesWhatIsNoHeaderAtItsFirstByte) {
    for (const std::string_view input :
         {std::string_view("G"), std::string_view("\x03"), std::string_view("\x16\x03\x01"),
          std::string_view("PROXX"), std::string_view("\r\n\r\nX"), std::string_view("\0", 1)}) {
        EXPECT_EQ(read(input, 1).status, Status::kMalformed) << input;
    }
}

TEST(ProxyHeaderTest, RefusesBrokenText) {
    for (const char* line : {
             "PROXY TCP4 192.0.2.1 10.0.0.7 4242\r\n",
             "PROXY TCP4 192.0.2.1 10.0.0.7 4242 1935 7\r\n",
             "PROXY TCP4 192.0.2.1  10.0.0.7 4242 1935\r\n",
             "PROXY TCP4 192.0.2.300 10.0.0.7 4242 1935\r\n",
             "PROXY TCP4 192.0.2.1 10.0.0.7 70000 1935\r\n",
             "PROXY TCP4 192.0.2.1 10.0.0.7 042 1935\r\n",
             "PROXY TCP4 192.0.2.1 10.0.0.7 -1 1935\r\n",
             "PROXY TCP6 192.0.2.1 10.0.0.7 1 2\r\n",
             "PROXY TCP4 2001:db8::1 ::1 1 2\r\n",
             "PROXY TCP6 2001:db8::1 10.0.0.7 1 2\r\n",
             "PROXY UDP4 192.0.2.1 10.0.0.7 1 2\r\n",
             "PROXY tcp4 192.0.2.1 10.0.0.7 1 2\r\n",
             "PROXY  TCP4 192.0.2.1 10.0.0.7 1 2\r\n",
             "PROXY TCP4 192.0.2.1 10.0.0.7 4242 1935\n",
             "PROXY TCP4 host name and port\r\n",
         }) {
        EXPECT_EQ(read(line).status, Status::kMalformed) << line;
    }
    EXPECT_EQ(read("PROXY TCP4 " + std::string(200, '1')).status, Status::kMalformed);
}

TEST(ProxyHeaderTest, RefusesBrokenBinary) {
    std::string version_1 = binary(1, 0x11, kV4Body);
    version_1[12] = 0x11;
    EXPECT_EQ(read(version_1).status, Status::kMalformed);
    EXPECT_EQ(read(binary(2, 0x11, kV4Body)).status, Status::kMalformed) << "command";
    EXPECT_EQ(read(binary(1, 0x51, kV4Body)).status, Status::kMalformed) << "family";
    EXPECT_EQ(read(binary(1, 0x11, kV4Body.substr(0, 11))).status, Status::kMalformed);
    EXPECT_EQ(read(binary(1, 0x21, kV4Body)).status, Status::kMalformed);
    EXPECT_EQ(read(binary(1, 0x31, "short")).status, Status::kMalformed);
}

TEST(ProxyHeaderTest, IsBounded) {
    const size_t room = HeaderReader::kMaxBinary - 16;
    EXPECT_EQ(read(binary(1, 0x11, kV4Body + std::string(room - 12, 'x'))).status, Status::kDone);
    const Outcome outcome = read(binary(1, 0x11, kV4Body + std::string(room - 11, 'x')));
    EXPECT_EQ(outcome.status, Status::kMalformed);
    EXPECT_EQ(outcome.used, 16U) << "refused before it is read";
}

}  // namespace
}  // namespace weir::proxy
