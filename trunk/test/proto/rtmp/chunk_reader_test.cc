#include "proto/rtmp/chunk_reader.h"

#include "test/proto/rtmp/support.h"

namespace weir::rtmp {
namespace {

using test::header;
using test::hex;
using test::join;
using test::message_bytes;
using test::pattern;
using test::read_all;
using test::set_chunk_size;

ErrorCode code_of(ByteSpan bytes) {
    Error error;
    read_all(bytes, SIZE_MAX, &error);
    return error.code();
}

// A bit of everything that the format has; used by the tests that cut input into pieces.
Bytes rich_stream() {
    Bytes out = set_chunk_size(7);
    // Two messages interleaved, chunk by chunk.
    const Bytes audio = message_bytes(header(ChunkFormat::kFull, 4, 100, kAudio), pattern(20), 7);
    const Bytes video =
        message_bytes(header(ChunkFormat::kFull, 70, 0x01FFFFFF, kVideo), pattern(15, 50), 7);
    const size_t audio_first = 12 + 7;
    const size_t video_first = 2 + 11 + 4 + 7;
    out.insert(out.end(), audio.begin(), audio.begin() + audio_first);
    out.insert(out.end(), video.begin(), video.begin() + video_first);
    out.insert(out.end(), audio.begin() + audio_first, audio.end());
    out.insert(out.end(), video.begin() + video_first, video.end());
    return join({out,
                 hex("44 000005 000000 08"),  // empty, delta 5
                 hex("84 000007"),            // type 2: empty again, delta 7
                 hex("c4"),                   // type 3: and again
                 set_chunk_size(65536),
                 message_bytes(header(ChunkFormat::kFull, 65599, 1, kCommandAmf0, 0), pattern(300),
                               65536)});
}

TEST(ChunkReaderTest, ReadsAFullHeader) {
    const std::vector<Message> messages = read_all(hex("04 010203 000003 08 0d0c0b0a aabbcc"));
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].type, kAudio);
    EXPECT_EQ(messages[0].timestamp, 0x010203u);
    EXPECT_EQ(messages[0].stream_id, 0x0A0B0C0Du);
    EXPECT_EQ(messages[0].chunk_stream_id, 4u);
    EXPECT_EQ(messages[0].body, hex("aabbcc"));
}

TEST(ChunkReaderTest, DeltasAddUp) {
    const std::vector<Message> messages =
        read_all(hex("04 000064 000001 08 01000000 aa"  // 100
                     "44 00000a 000002 09 bbcc"         // + 10, other length and type
                     "84 000014 ddee"                   // + 20
                     "c4 ff00"));                       // + 20 again
    ASSERT_EQ(messages.size(), 4u);
    EXPECT_EQ(messages[1].timestamp, 110u);
    EXPECT_EQ(messages[1].type, kVideo);
    EXPECT_EQ(messages[1].stream_id, 1u);
    EXPECT_EQ(messages[2].timestamp, 130u);
    EXPECT_EQ(messages[2].body, hex("ddee"));
    EXPECT_EQ(messages[3].timestamp, 150u);
    EXPECT_EQ(messages[3].body, hex("ff00"));
}

TEST(ChunkReaderTest, TypeThreeBehindTypeZeroRepeatsItsTimestampAsDelta) {
    const std::vector<Message> messages = read_all(hex("04 000064 000001 08 01000000 aa c4 bb"));
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[1].timestamp, 200u);
}

TEST(ChunkReaderTest, TimestampsWrap) {
    const std::vector<Message> messages =
        read_all(hex("04 ffffff 000001 08 01000000 fffffff0 aa 44 000020 000001 08 bb"));
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[0].timestamp, 0xFFFFFFF0u);
    EXPECT_EQ(messages[1].timestamp, 0x10u);
}

TEST(ChunkReaderTest, ExtendedTimestampIsRepeatedInContinuations) {
    const Bytes body = pattern(300);
    const std::vector<Message> messages =
        read_all(message_bytes(header(ChunkFormat::kFull, 4, 0x01020304, kVideo), body));
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].timestamp, 0x01020304u);
    EXPECT_EQ(messages[0].body, body);
}

TEST(ChunkReaderTest, ToleratesAPeerThatDoesNotRepeatTheExtendedTimestamp) {
    const Bytes body = pattern(259, 3);
    // 128 + 128 + 3 bytes: the first continuation tells, the last would be too short for it.
    const Bytes once =
        join({hex("04 ffffff 000103 09 01000000 01020304"), Bytes(body.begin(), body.begin() + 128),
              hex("c4"), Bytes(body.begin() + 128, body.begin() + 256), hex("c4"),
              Bytes(body.begin() + 256, body.end())});
    ChunkReader reader;
    const std::vector<Message> messages = read_all(reader, join({once, once}), SIZE_MAX);
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[0].body, body);
    EXPECT_EQ(messages[1].body, body);
    EXPECT_EQ(messages[1].timestamp, 0x01020304u);
}

TEST(ChunkReaderTest, AcceptsTheAbsoluteTimeAsRepetitionOfAnExtendedDelta) {
    const Bytes body = pattern(130, 3);
    const std::vector<Message> messages =
        read_all(join({hex("04 000010 000000 09 01000000"), hex("44 ffffff 000082 09 01000000"),
                       Bytes(body.begin(), body.begin() + 128), hex("c4 01000010"),
                       Bytes(body.begin() + 128, body.end())}));
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[1].timestamp, 0x01000010u);
    EXPECT_EQ(messages[1].body, body);
}

TEST(ChunkReaderTest, TypeThreeThatBeginsAMessageCarriesTheExtendedDelta) {
    const std::vector<Message> messages = read_all(
        hex("04 000000 000001 09 01000000 aa 44 ffffff 000001 09 01000000 bb c4 01000000 cc"));
    ASSERT_EQ(messages.size(), 3u);
    EXPECT_EQ(messages[1].timestamp, 0x01000000u);
    EXPECT_EQ(messages[2].timestamp, 0x02000000u);
    EXPECT_EQ(messages[2].body, hex("cc"));
}

TEST(ChunkReaderTest, ShortHeaderEndsExtendedTimestamps) {
    const std::vector<Message> messages =
        read_all(join({hex("04 ffffff 000001 09 01000000 01000000 aa"), hex("44 000001 000081 09"),
                       pattern(128), hex("c4 77")}));
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[1].timestamp, 0x01000001u);
    EXPECT_EQ(messages[1].body.back(), 0x77);
}

TEST(ChunkReaderTest, ChunkStreamIdsOfAllSizesAreKeptApart) {
    for (const uint32_t csid : {2u, 3u, 63u, 64u, 65u, 319u, 320u, 321u, 65598u, 65599u}) {
        const std::vector<Message> messages =
            read_all(message_bytes(header(ChunkFormat::kFull, csid, 1, kAudio), pattern(200)));
        ASSERT_EQ(messages.size(), 1u) << csid;
        EXPECT_EQ(messages[0].chunk_stream_id, csid);
        EXPECT_EQ(messages[0].body, pattern(200));
    }
}

TEST(ChunkReaderTest, MessagesOfSeveralChunkStreamsInterleave) {
    const std::vector<Message> messages = read_all(rich_stream());
    ASSERT_EQ(messages.size(), 6u);
    EXPECT_EQ(messages[0].body, pattern(20));
    EXPECT_EQ(messages[1].body, pattern(15, 50));
    EXPECT_EQ(messages[1].timestamp, 0x01FFFFFFu);
    EXPECT_EQ(messages[2].timestamp, 105u);
    EXPECT_TRUE(messages[2].body.empty());
    EXPECT_EQ(messages[3].timestamp, 112u);
    EXPECT_EQ(messages[4].timestamp, 119u);
    EXPECT_EQ(messages[5].body, pattern(300));
}

TEST(ChunkReaderTest, AnySplitOfTheInputGivesTheSameMessages) {
    const Bytes stream = rich_stream();
    const std::vector<Message> whole = read_all(stream);
    for (size_t step = 1; step < stream.size(); step++) {
        const std::vector<Message> pieces = read_all(stream, step);
        ASSERT_EQ(pieces.size(), whole.size()) << step;
        for (size_t i = 0; i < whole.size(); i++) {
            EXPECT_EQ(pieces[i].timestamp, whole[i].timestamp);
            EXPECT_EQ(pieces[i].body, whole[i].body);
        }
    }
}

TEST(ChunkReaderTest, EveryTruncationIsAPrefixAndNoError) {
    const Bytes stream = rich_stream();
    for (size_t size = 0; size < stream.size(); size++) {
        Error error;
        EXPECT_LT(read_all(ByteSpan(stream).first(size), SIZE_MAX, &error).size(), 6u);
        EXPECT_FALSE(error) << error.to_string();
    }
}

TEST(ChunkReaderTest, AllChunkSizesGiveTheSameMessage) {
    const Bytes body = pattern(70000);
    for (const uint32_t size : {1u, 2u, 127u, 128u, 129u, 4096u, 65536u, 0xFFFFFFu}) {
        const std::vector<Message> messages =
            read_all(join({set_chunk_size(size),
                           message_bytes(header(ChunkFormat::kFull, 4, 1, kVideo), body, size)}));
        ASSERT_EQ(messages.size(), 1u) << size;
        EXPECT_EQ(messages[0].body, body);
    }
}

TEST(ChunkReaderTest, ChunkSizeMayChangeInsideAMessage) {
    Bytes body = pattern(300);
    const Bytes bytes =
        join({hex("04 000000 00012c 09 01000000"), Bytes(body.begin(), body.begin() + 128),
              set_chunk_size(200), hex("c4"), Bytes(body.begin() + 128, body.end())});
    const std::vector<Message> messages = read_all(bytes);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].body, body);
}

TEST(ChunkReaderTest, ChunkSizeIsClampedToTheLongestMessage) {
    ChunkReader reader;
    read_all(reader, set_chunk_size(0x7FFFFFFF), SIZE_MAX);
    EXPECT_EQ(reader.chunk_size(), kMaxChunkSize);
}

TEST(ChunkReaderTest, RefusesAChunkSizeOfZero) {
    EXPECT_EQ(code_of(set_chunk_size(0)), ErrorCode::kMalformed);
}

TEST(ChunkReaderTest, RefusesAChunkSizeWithTheTopBit) {
    EXPECT_EQ(code_of(set_chunk_size(0x80000080)), ErrorCode::kMalformed);
}

TEST(ChunkReaderTest, RefusesATruncatedControlMessage) {
    EXPECT_EQ(code_of(hex("02 000000 000003 01 00000000 000080")), ErrorCode::kMalformed);
    EXPECT_EQ(code_of(hex("02 000000 000000 02 00000000")), ErrorCode::kMalformed);
}

TEST(ChunkReaderTest, AbortDropsTheUnfinishedMessageOfItsChunkStream) {
    Bytes abort;
    write_abort(4, abort);
    const Bytes begun = join({hex("04 000000 00012c 09 01000000"), pattern(128)});
    ChunkReader reader;
    std::vector<Message> messages = read_all(reader, begun, SIZE_MAX);
    EXPECT_EQ(reader.partial_bytes(), 128u);
    messages = read_all(reader, join({abort, hex("04 000000 000001 08 01000000 aa")}), SIZE_MAX);
    EXPECT_EQ(reader.partial_bytes(), 0u);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].body, hex("aa"));
}

TEST(ChunkReaderTest, AbortOfAnUnknownChunkStreamIsNothing) {
    Bytes bytes;
    write_abort(77, bytes);
    EXPECT_EQ(code_of(bytes), ErrorCode::kOk);
}

TEST(ChunkReaderTest, NewHeaderInsideAMessageDropsTheOldOne) {
    const std::vector<Message> messages =
        read_all(join({hex("04 000000 00012c 09 01000000"), pattern(128),
                       hex("04 000005 000001 08 01000000 aa")}));
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].type, kAudio);
    EXPECT_EQ(messages[0].body, hex("aa"));
}

TEST(ChunkReaderTest, AcceptsADeltaHeaderOnAFreshChunkStream) {
    // Some clients begin with type 1, message stream 0 and time 0 understood.
    const std::vector<Message> messages = read_all(hex("42 000005 000001 08 aa"));
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].timestamp, 5u);
    EXPECT_EQ(messages[0].stream_id, 0u);
}

TEST(ChunkReaderTest, RefusesShorterHeadersOnAFreshChunkStream) {
    EXPECT_EQ(code_of(hex("84 000005 aa")), ErrorCode::kMalformed);
    EXPECT_EQ(code_of(hex("c4 aa")), ErrorCode::kMalformed);
}

TEST(ChunkReaderTest, RefusesMoreChunkStreamsThanAllowed) {
    Bytes bytes;
    for (uint32_t i = 0; i < ChunkReader::kMaxChunkStreams; i++) {
        write_message(header(ChunkFormat::kFull, 3 + i, 0, kAudio), {}, 128, bytes);
    }
    EXPECT_EQ(read_all(bytes).size(), ChunkReader::kMaxChunkStreams);
    EXPECT_EQ(code_of(bytes), ErrorCode::kOk);
    write_message(header(ChunkFormat::kFull, 1000, 0, kAudio), {}, 128, bytes);
    EXPECT_EQ(code_of(bytes), ErrorCode::kLimit);
}

TEST(ChunkReaderTest, RefusesAMessageOverTheLimitByItsHeader) {
    ChunkReader reader(ChunkLimits{100, 1000});
    Error error;
    read_all(reader, hex("04 000000 000065 09 01000000"), SIZE_MAX, &error);
    EXPECT_EQ(error.code(), ErrorCode::kLimit);
    EXPECT_EQ(reader.feed(hex("00")), 0u);
}

TEST(ChunkReaderTest, AcceptsAMessageOfExactlyTheLimit) {
    ChunkReader reader(ChunkLimits{100, 1000});
    EXPECT_EQ(
        read_all(reader, message_bytes(header(ChunkFormat::kFull, 4, 0, kVideo), pattern(100)),
                 SIZE_MAX)
            .size(),
        1u);
}

TEST(ChunkReaderTest, RefusesTooManyBytesInUnfinishedMessages) {
    ChunkReader reader(ChunkLimits{1000, 300});
    Error error;
    for (uint32_t csid = 4; csid < 7; csid++) {
        const Bytes begun =
            message_bytes(header(ChunkFormat::kFull, csid, 0, kVideo), pattern(200));
        read_all(reader, ByteSpan(begun).first(12 + 128), SIZE_MAX, &error);
    }
    EXPECT_EQ(error.code(), ErrorCode::kLimit);
}

TEST(ChunkReaderTest, FinishedMessagesDoNotCountAsUnfinished) {
    ChunkReader reader(ChunkLimits{1000, 300});
    Error error;
    for (int i = 0; i < 10; i++) {
        read_all(reader, message_bytes(header(ChunkFormat::kFull, 4, 0, kVideo), pattern(200)),
                 SIZE_MAX, &error);
    }
    EXPECT_FALSE(error);
    EXPECT_EQ(reader.partial_bytes(), 0u);
}

TEST(ChunkReaderTest, NewLimitsHoldForTheNextMessage) {
    ChunkReader reader(ChunkLimits{100, 1000});
    reader.set_limits(ChunkLimits{300, 1000});
    EXPECT_EQ(
        read_all(reader, message_bytes(header(ChunkFormat::kFull, 4, 0, kVideo), pattern(300)),
                 SIZE_MAX)
            .size(),
        1u);
}

TEST(ChunkReaderTest, BodiesHoldNoMoreMemoryThanTheirMessage) {
    for (const size_t size :
         {size_t{1}, size_t{100}, size_t{5000}, size_t{70000}, size_t{1000001}}) {
        const std::vector<Message> messages = read_all(
            join({set_chunk_size(60000),
                  message_bytes(header(ChunkFormat::kFull, 4, 0, kVideo), pattern(size), 60000)}),
            1460);
        ASSERT_EQ(messages.size(), 1u);
        EXPECT_EQ(messages[0].body.size(), size);
        EXPECT_LE(messages[0].body.capacity(), size);
    }
}

TEST(ChunkReaderTest, FeedStopsBehindEachMessage) {
    const Bytes one = hex("04 000000 000001 08 01000000 aa");
    const Bytes two = join({one, one});
    ChunkReader reader;
    EXPECT_EQ(reader.feed(two), one.size());
    EXPECT_EQ(reader.feed(two), 0u);  // the first one waits
    Message message;
    EXPECT_EQ(reader.next(message), ChunkReader::Status::kMessage);
    EXPECT_EQ(reader.next(message), ChunkReader::Status::kNeedMore);
    EXPECT_EQ(reader.feed(one), one.size());
}

TEST(ChunkReaderTest, ErrorStaysAndIsGivenOnce) {
    ChunkReader reader;
    Error error;
    read_all(reader, hex("c4 aa"), SIZE_MAX, &error);
    EXPECT_EQ(error.code(), ErrorCode::kMalformed);
    Message message;
    EXPECT_EQ(reader.next(message), ChunkReader::Status::kError);
    EXPECT_FALSE(reader.take_error());
}

TEST(ChunkReaderTest, IdleReaderIsSmall) {
    EXPECT_LE(sizeof(ChunkReader), 96u);
}

}  // namespace
}  // namespace weir::rtmp
