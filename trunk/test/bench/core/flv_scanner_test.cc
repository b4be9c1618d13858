#include "bench/load/core/flv_scanner.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

struct Collector {
    void begin(const ScannedMessage& message) {
        messages.push_back(message);
        bodies.emplace_back();
    }

    void part(const ScannedMessage&, ByteSpan bytes) {
        bodies.back().insert(bodies.back().end(), bytes.begin(), bytes.end());
    }

    void end(const ScannedMessage&) { ended++; }

    std::vector<ScannedMessage> messages;
    std::vector<Bytes> bodies;
    int ended = 0;
};

void append_tag(Bytes& out, uint8_t type, uint32_t timestamp, const Bytes& body) {
    size_t at = out.size();
    auto size = static_cast<uint32_t>(body.size());
    out.resize(at + flv::kTagHeaderSize);
    flv::write_tag_header(type, timestamp, size, out.data() + at);
    out.insert(out.end(), body.begin(), body.end());
    at = out.size();
    out.resize(at + flv::kTagTrailerSize);
    flv::write_tag_trailer(size, out.data() + at);
}

Bytes sample() {
    Bytes out(flv::kFileHeaderSize);
    flv::write_file_header(true, true, out.data());
    append_tag(out, 18, 0, Bytes(50, 1));
    append_tag(out, 9, 0x12345678, Bytes(3000, 2));
    append_tag(out, 8, 40, Bytes(170, 3));
    append_tag(out, 8, 41, Bytes());
    append_tag(out, 9, 42, Bytes(1, 4));
    return out;
}

TEST(FlvScannerTest, GivesTheSameTagsHoweverTheBytesAreCut) {
    Bytes bytes = sample();
    for (size_t step : {1UL, 2UL, 13UL, 100UL, bytes.size()}) {
        FlvScanner scanner;
        Collector seen;
        for (size_t at = 0; at < bytes.size(); at += step) {
            ASSERT_TRUE(
                scanner.feed(ByteSpan(bytes).subspan(at, std::min(step, bytes.size() - at)), seen))
                << scanner.error();
        }
        ASSERT_EQ(seen.messages.size(), 5U);
        EXPECT_EQ(seen.ended, 4) << "the empty tag has nothing to end";
        EXPECT_EQ(seen.messages[1].timestamp, 0x12345678U);
        EXPECT_EQ(seen.bodies[1], Bytes(3000, 2));
        EXPECT_EQ(seen.messages[2].type, 8);
        EXPECT_EQ(seen.bodies[4], Bytes(1, 4));
    }
}

TEST(FlvScannerTest, RefusesWhatIsNotFlv) {
    FlvScanner scanner;
    Collector seen;
    EXPECT_FALSE(scanner.feed(as_bytes("<html><body>no</body>"), seen));
    EXPECT_NE(scanner.error(), nullptr);
}

TEST(FlvScannerTest, NoticesAPreviousTagSizeThatIsWrong) {
    Bytes bytes = sample();
    bytes[flv::kFileHeaderSize + flv::kTagHeaderSize + 50 + 3] ^= 1;
    FlvScanner scanner;
    Collector seen;
    EXPECT_FALSE(scanner.feed(bytes, seen));
}

}  // namespace
}  // namespace weir::load
