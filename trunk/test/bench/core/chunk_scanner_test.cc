#include "bench/load/core/chunk_scanner.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "proto/rtmp/chunk_writer.h"

namespace weir::load {
namespace {

// Puts the messages together again, for comparing.
struct Collector {
    struct Entry {
        ScannedMessage message;
        Bytes body;
    };

    void begin(const ScannedMessage& message) { open[message.chunk_stream].clear(); }

    void part(const ScannedMessage& message, ByteSpan bytes) {
        Bytes& body = open[message.chunk_stream];
        body.insert(body.end(), bytes.begin(), bytes.end());
    }

    void end(const ScannedMessage& message) {
        done.push_back({message, open[message.chunk_stream]});
    }

    std::map<uint32_t, Bytes> open;
    std::vector<Entry> done;
};

Bytes pattern(size_t size, uint8_t first) {
    Bytes out(size);
    for (size_t i = 0; i < size; i++) {
        out[i] = static_cast<uint8_t>(first + i);
    }
    return out;
}

rtmp::ChunkHeader header_of(uint32_t chunk_stream, uint8_t type, uint32_t timestamp) {
    rtmp::ChunkHeader header;
    header.chunk_stream_id = chunk_stream;
    header.type = type;
    header.timestamp = timestamp;
    header.stream_id = 1;
    return header;
}

// Messages of all kinds: small and cut into chunks, delta times, extended times, long chunk stream
// ids, an empty one.
Bytes sample_bytes() {
    Bytes out;
    rtmp::write_message(header_of(6, 9, 1000), pattern(300, 1), 128, out);
    rtmp::write_set_chunk_size(4096, out);
    rtmp::write_message(header_of(4, 8, 5), pattern(100, 2), 4096, out);
    rtmp::ChunkHeader delta = header_of(6, 9, 40);
    delta.format = rtmp::ChunkFormat::kDelta;
    rtmp::write_message(delta, pattern(9000, 3), 4096, out);
    rtmp::write_message(header_of(300, 9, 0x1000000), pattern(5000, 4), 4096, out);
    rtmp::write_message(header_of(70, 18, 7), Bytes(), 4096, out);
    return out;
}

void expect_sample(const Collector& seen) {
    ASSERT_EQ(seen.done.size(), 6U);
    EXPECT_EQ(seen.done[0].body, pattern(300, 1));
    EXPECT_EQ(seen.done[0].message.timestamp, 1000U);
    EXPECT_EQ(seen.done[0].message.stream_id, 1U);
    EXPECT_EQ(seen.done[1].message.type, rtmp::kSetChunkSize);
    EXPECT_EQ(seen.done[2].body, pattern(100, 2));
    EXPECT_EQ(seen.done[2].message.type, 8);
    EXPECT_EQ(seen.done[3].body, pattern(9000, 3));
    EXPECT_EQ(seen.done[3].message.timestamp, 1040U);
    EXPECT_EQ(seen.done[4].body, pattern(5000, 4));
    EXPECT_EQ(seen.done[4].message.timestamp, 0x1000000U);
    EXPECT_EQ(seen.done[5].message.length, 0U);
    EXPECT_EQ(seen.done[5].message.chunk_stream, 70U);
}

TEST(ChunkScannerTest, GivesTheSameMessagesHoweverTheBytesAreCut) {
    Bytes bytes = sample_bytes();
    for (size_t step : {1UL, 2UL, 3UL, 5UL, 127UL, 1000UL, bytes.size()}) {
        ChunkScanner scanner;
        Collector seen;
        for (size_t at = 0; at < bytes.size(); at += step) {
            ASSERT_TRUE(
                scanner.feed(ByteSpan(bytes).subspan(at, std::min(step, bytes.size() - at)), seen));
        }
        expect_sample(seen);
    }
}

TEST(ChunkScannerTest, AnyTwoPartsGiveTheSameMessages) {
    Bytes bytes = sample_bytes();
    for (size_t cut = 0; cut <= bytes.size(); cut += cut < 500 ? 1 : 97) {
        ChunkScanner scanner;
        Collector seen;
        ASSERT_TRUE(scanner.feed(ByteSpan(bytes).first(cut), seen));
        ASSERT_TRUE(scanner.feed(ByteSpan(bytes).subspan(cut), seen));
        expect_sample(seen);
    }
}

TEST(ChunkScannerTest, TypeThreeBeginsAMessageWithTheSameDelta) {
    Bytes bytes;
    rtmp::write_message(header_of(6, 9, 100), pattern(10, 1), 128, bytes);
    rtmp::ChunkHeader delta = header_of(6, 9, 33);
    delta.format = rtmp::ChunkFormat::kDelta;
    rtmp::write_message(delta, pattern(10, 1), 128, bytes);
    bytes.push_back(0xC6);
    Bytes body = pattern(10, 9);
    bytes.insert(bytes.end(), body.begin(), body.end());
    ChunkScanner scanner;
    Collector seen;
    ASSERT_TRUE(scanner.feed(bytes, seen));
    ASSERT_EQ(seen.done.size(), 3U);
    EXPECT_EQ(seen.done[2].message.timestamp, 166U);
    EXPECT_EQ(seen.done[2].body, body);
}

TEST(ChunkScannerTest, MessagesOfTwoChunkStreamsInterleave) {
    Bytes video = {0x06, 0, 0, 1, 0, 0, 200, 9, 1, 0, 0, 0};
    video.resize(12 + 128, 0x11);
    Bytes audio = {0x04, 0, 0, 2, 0, 0, 3, 8, 1, 0, 0, 0, 7, 7, 7};
    Bytes rest = {0xC6};
    rest.resize(1 + 72, 0x11);
    ChunkScanner scanner;
    Collector seen;
    for (const Bytes& part : {video, audio, rest}) {
        ASSERT_TRUE(scanner.feed(part, seen));
    }
    ASSERT_EQ(seen.done.size(), 2U);
    EXPECT_EQ(seen.done[0].message.type, 8);
    EXPECT_EQ(seen.done[1].body, Bytes(200, 0x11));
}

TEST(ChunkScannerTest, AnAbortedMessageDoesNotEnd) {
    Bytes bytes = {0x06, 0, 0, 1, 0, 0, 200, 9, 1, 0, 0, 0};
    bytes.resize(12 + 128, 0x11);
    rtmp::write_abort(6, bytes);
    rtmp::write_message(header_of(6, 9, 2), pattern(5, 5), 128, bytes);
    ChunkScanner scanner;
    Collector seen;
    ASSERT_TRUE(scanner.feed(bytes, seen));
    ASSERT_EQ(seen.done.size(), 2U);
    EXPECT_EQ(seen.done[1].body, pattern(5, 5));
}

TEST(ChunkScannerTest, RefusesWhatIsNoChunk) {
    Collector seen;
    ChunkScanner zero;
    Bytes bytes = {0x02, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0};
    EXPECT_FALSE(zero.feed(bytes, seen));
    EXPECT_NE(zero.error(), nullptr);

    ChunkScanner early;
    bytes = {0x06, 0, 0, 1, 0, 0, 200, 9, 1, 0, 0, 0};
    bytes.resize(12 + 128, 0x11);
    bytes.insert(bytes.end(), {0x06, 0, 0, 1, 0, 0, 200, 9, 1, 0, 0, 0});
    EXPECT_FALSE(early.feed(bytes, seen));

    ChunkScanner many;
    bool accepted = true;
    for (uint8_t id = 3; id < 63 && accepted; id++) {
        accepted = many.feed(Bytes{id, 0, 0, 1, 0, 0, 1, 9, 1, 0, 0, 0, 5}, seen);
    }
    EXPECT_FALSE(accepted);
}

}  // namespace
}  // namespace weir::load
