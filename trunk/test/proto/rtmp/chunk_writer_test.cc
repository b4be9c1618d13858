#include "proto/rtmp/chunk_writer.h"

#include "test/proto/rtmp/support.h"

namespace weir::rtmp {
namespace {

using test::header;
using test::hex;
using test::join;
using test::message_bytes;
using test::pattern;

Bytes header_bytes(const ChunkHeader& head) {
    uint8_t out[kMaxChunkHeaderSize];
    const size_t size = write_chunk_header(head, out);
    EXPECT_EQ(size, chunk_header_size(head));
    return {out, out + size};
}

Bytes continuation_bytes(const ChunkHeader& head) {
    uint8_t out[kMaxContinuationSize];
    const size_t size = write_continuation(head, out);
    EXPECT_EQ(size, continuation_size(head));
    return {out, out + size};
}

TEST(ChunkWriterTest, FullHeaderHasLittleEndianStreamId) {
    ChunkHeader head = header(ChunkFormat::kFull, 4, 0x010203, kAudio, 0x0A0B0C0D);
    head.length = 0x040506;
    EXPECT_EQ(header_bytes(head), hex("04 010203 040506 08 0d0c0b0a"));
}

TEST(ChunkWriterTest, DeltaHeaderLeavesTheStreamIdOut) {
    ChunkHeader head = header(ChunkFormat::kDelta, 6, 40, kVideo, 1);
    head.length = 5;
    EXPECT_EQ(header_bytes(head), hex("46 000028 000005 09"));
}

TEST(ChunkWriterTest, ContinuationIsTheBasicHeaderOfTypeThree) {
    EXPECT_EQ(continuation_bytes(header(ChunkFormat::kDelta, 6, 40, kVideo)), hex("c6"));
}

TEST(ChunkWriterTest, ChunkStreamIdsTakeOneTwoOrThreeBytes) {
    struct Case {
        uint32_t csid;
        const char* basic;
    };

    for (const Case& c : {Case{2, "c2"}, Case{63, "ff"}, Case{64, "c000"}, Case{319, "c0ff"},
                          Case{320, "c10001"}, Case{65599, "c1ffff"}}) {
        EXPECT_EQ(continuation_bytes(header(ChunkFormat::kFull, c.csid, 0, kAudio)), hex(c.basic))
            << c.csid;
    }
}

TEST(ChunkWriterTest, TimestampBelowTheMarkStaysInTheHeader) {
    EXPECT_EQ(header_bytes(header(ChunkFormat::kFull, 3, 0xFFFFFE, kAudio)),
              hex("03 fffffe 000000 08 01000000"));
}

TEST(ChunkWriterTest, TimestampFromTheMarkOnIsExtendedAndRepeated) {
    const ChunkHeader at_mark = header(ChunkFormat::kFull, 3, 0xFFFFFF, kAudio);
    EXPECT_EQ(header_bytes(at_mark), hex("03 ffffff 000000 08 01000000 00ffffff"));
    EXPECT_EQ(continuation_bytes(at_mark), hex("c3 00ffffff"));
    const ChunkHeader large = header(ChunkFormat::kFull, 3, 0xFEDCBA98, kAudio);
    EXPECT_EQ(header_bytes(large), hex("03 ffffff 000000 08 01000000 fedcba98"));
}

TEST(ChunkWriterTest, ExtendedDeltaStandsBehindTheShortHeader) {
    EXPECT_EQ(header_bytes(header(ChunkFormat::kDelta, 3, 0x01000000, kAudio)),
              hex("43 ffffff 000000 08 01000000"));
}

TEST(ChunkWriterTest, MessageIsCutIntoChunks) {
    const Bytes out = message_bytes(header(ChunkFormat::kFull, 4, 1, kAudio), pattern(5), 2);
    EXPECT_EQ(out, hex("04 000001 000005 08 01000000 0001 c4 0203 c4 04"));
}

TEST(ChunkWriterTest, FullLastChunkHasNoContinuationBehindIt) {
    const Bytes out = message_bytes(header(ChunkFormat::kFull, 4, 1, kAudio), pattern(4), 2);
    EXPECT_EQ(out, hex("04 000001 000004 08 01000000 0001 c4 0203"));
}

TEST(ChunkWriterTest, ExtendedTimestampIsInEveryChunk) {
    const Bytes out =
        message_bytes(header(ChunkFormat::kFull, 4, 0x12345678, kAudio), pattern(3), 2);
    EXPECT_EQ(out, hex("04 ffffff 000003 08 01000000 12345678 0001 c4 12345678 02"));
}

TEST(ChunkWriterTest, EmptyMessageIsAHeaderAlone) {
    EXPECT_EQ(message_bytes(header(ChunkFormat::kDelta, 4, 1, kAudio), {}),
              hex("44 000001 000000 08"));
}

TEST(ChunkWriterTest, SizeIsKnownBeforeWriting) {
    for (const uint32_t chunk_size : {1u, 2u, 127u, 128u, 129u, 60000u}) {
        for (const size_t length : {0u, 1u, 2u, 127u, 128u, 129u, 256u, 257u, 1000u}) {
            for (const uint32_t timestamp : {0u, 0xFFFFFEu, 0xFFFFFFu, 0xFFFFFFFFu}) {
                ChunkHeader head = header(ChunkFormat::kFull, 400, timestamp, kVideo);
                const Bytes out = message_bytes(head, pattern(length), chunk_size);
                head.length = static_cast<uint32_t>(length);
                EXPECT_EQ(message_size(head, chunk_size), out.size())
                    << chunk_size << " " << length;
            }
        }
    }
}

TEST(ChunkWriterTest, MessagesAreAppended) {
    Bytes out = hex("aa");
    write_message(header(ChunkFormat::kDelta, 4, 0, kAudio), pattern(1), 128, out);
    EXPECT_EQ(out, hex("aa 44 000000 000001 08 00"));
}

TEST(ChunkWriterTest, WhatItWritesTheReaderReads) {
    for (const uint32_t chunk_size : {1u, 2u, 127u, 128u, 129u, 4096u, 65536u}) {
        Bytes out = test::set_chunk_size(chunk_size);
        write_message(header(ChunkFormat::kFull, 4, 0xFFFFF0, kAudio, 7), pattern(1000), chunk_size,
                      out);
        write_message(header(ChunkFormat::kDelta, 4, 0x20, kAudio), pattern(300, 9), chunk_size,
                      out);
        const std::vector<Message> messages = test::read_all(out);
        ASSERT_EQ(messages.size(), 2u) << chunk_size;
        EXPECT_EQ(messages[0].timestamp, 0xFFFFF0u);
        EXPECT_EQ(messages[0].stream_id, 7u);
        EXPECT_EQ(messages[0].body, pattern(1000));
        EXPECT_EQ(messages[1].timestamp, 0x1000010u);
        EXPECT_EQ(messages[1].stream_id, 7u);
        EXPECT_EQ(messages[1].body, pattern(300, 9));
    }
}

}  // namespace
}  // namespace weir::rtmp
