#include "proto/flv/reader.h"

#include <gtest/gtest.h>

#include "test/proto/rtmp/support.h"

namespace weir::flv {
namespace {

using rtmp::test::hex;
using rtmp::test::join;
using rtmp::test::pattern;

Bytes file_header(bool audio = true, bool video = true) {
    uint8_t out[kFileHeaderSize];
    write_file_header(audio, video, out);
    return {out, out + sizeof out};
}

Bytes tag(uint8_t type, uint32_t timestamp, const Bytes& body) {
    uint8_t head[kTagHeaderSize];
    uint8_t trailer[kTagTrailerSize];
    write_tag_header(type, timestamp, static_cast<uint32_t>(body.size()), head);
    write_tag_trailer(static_cast<uint32_t>(body.size()), trailer);
    return join({Bytes(head, head + sizeof head), body, Bytes(trailer, trailer + sizeof trailer)});
}

Bytes sample_file() {
    return join({file_header(), tag(kScriptTag, 0, pattern(30)),
                 tag(kVideoTag, 0x01020304, pattern(5000)), tag(kAudioTag, 0xFFFFFFFF, {}),
                 tag(kAudioTag, 7, pattern(3))});
}

std::vector<Tag> read_all(TagReader& reader, ByteSpan bytes, size_t step, Error* error = nullptr) {
    std::vector<Tag> tags;
    while (!bytes.empty()) {
        ByteSpan piece = bytes.first(std::min(step, bytes.size()));
        bytes = bytes.subspan(piece.size());
        while (!piece.empty()) {
            piece = piece.subspan(reader.feed(piece));
            Tag next;
            switch (reader.next(next)) {
                case TagReader::Status::kTag: tags.push_back(std::move(next)); break;
                case TagReader::Status::kNeedMore: break;
                case TagReader::Status::kError:
                    if (error) {
                        *error = reader.take_error();
                    }
                    return tags;
            }
        }
    }
    return tags;
}

ErrorCode code_of(ByteSpan bytes) {
    TagReader reader;
    Error error;
    read_all(reader, bytes, SIZE_MAX, &error);
    return error.code();
}

TEST(TagReaderTest, ReadsWhatTheWritersWrite) {
    TagReader reader;
    const std::vector<Tag> tags = read_all(reader, sample_file(), SIZE_MAX);
    ASSERT_EQ(tags.size(), 4u);
    EXPECT_EQ(tags[0].type, kScriptTag);
    EXPECT_EQ(tags[1].timestamp, 0x01020304u);
    EXPECT_EQ(tags[1].body, pattern(5000));
    EXPECT_EQ(tags[2].timestamp, 0xFFFFFFFFu);
    EXPECT_TRUE(tags[2].body.empty());
    EXPECT_EQ(tags[3].body, pattern(3));
}

TEST(TagReaderTest, AnySplitOfTheInputGivesTheSameTags) {
    const Bytes file = sample_file();
    for (const size_t step : {1u, 2u, 3u, 5u, 10u, 11u, 12u, 13u, 14u, 100u, 4096u}) {
        TagReader reader;
        const std::vector<Tag> tags = read_all(reader, file, step);
        ASSERT_EQ(tags.size(), 4u) << step;
        EXPECT_EQ(tags[1].body, pattern(5000));
    }
}

TEST(TagReaderTest, EveryTruncationIsAPrefixAndNoError) {
    const Bytes file =
        join({file_header(), tag(kAudioTag, 1, pattern(20)), tag(kAudioTag, 2, pattern(20))});
    for (size_t size = 0; size < file.size(); size++) {
        TagReader reader;
        Error error;
        EXPECT_LT(read_all(reader, ByteSpan(file).first(size), SIZE_MAX, &error).size(), 2u);
        EXPECT_FALSE(error);
    }
}

TEST(TagReaderTest, GivesTheFlagsOfTheFileHeader) {
    TagReader reader;
    read_all(reader, file_header(true, false), SIZE_MAX);
    EXPECT_TRUE(reader.header_done());
    EXPECT_TRUE(reader.has_audio());
    EXPECT_FALSE(reader.has_video());
}

TEST(TagReaderTest, SkipsALongerFileHeader) {
    TagReader reader;
    const std::vector<Tag> tags = read_all(
        reader, join({hex("464c56 02 05 0000000c aabbcc 00000000"), tag(kAudioTag, 1, hex("aa"))}),
        1);
    ASSERT_EQ(tags.size(), 1u);
    EXPECT_EQ(tags[0].body, hex("aa"));
}

TEST(TagReaderTest, RefusesWhatIsNotFlv) {
    EXPECT_EQ(code_of(hex("485454502f312e3120")), ErrorCode::kMalformed);
    EXPECT_EQ(code_of(hex("464c56 01 05 00000008 00000000")), ErrorCode::kMalformed);
    EXPECT_EQ(code_of(hex("464c56 01 05 ffffffff 00000000")), ErrorCode::kMalformed);
}

TEST(TagReaderTest, RefusesEncryptedTags) {
    EXPECT_EQ(code_of(join({file_header(), tag(0x29, 0, hex("aa"))})), ErrorCode::kUnsupported);
}

TEST(TagReaderTest, RefusesAWrongPreviousTagSize) {
    Bytes file = join({file_header(), tag(kAudioTag, 0, hex("aa"))});
    file.back() ^= 0x40;
    EXPECT_EQ(code_of(file), ErrorCode::kMalformed);
}

TEST(TagReaderTest, ToleratesPreviousTagSizesOfSloppyEncoders) {
    for (const char* trailer : {"00000000", "00000001"}) {
        TagReader reader;
        const Bytes file =
            join({file_header(), hex("08 000001 000000 00 000000 aa"), hex(trailer)});
        EXPECT_EQ(read_all(reader, file, SIZE_MAX).size(), 1u) << trailer;
    }
}

TEST(TagReaderTest, RefusesABodyOverTheLimit) {
    TagReader reader(100);
    Error error;
    EXPECT_EQ(
        read_all(reader, join({file_header(), tag(kVideoTag, 0, pattern(100))}), SIZE_MAX, &error)
            .size(),
        1u);
    EXPECT_FALSE(error);
    read_all(reader, tag(kVideoTag, 0, pattern(101)), SIZE_MAX, &error);
    EXPECT_EQ(error.code(), ErrorCode::kLimit);
    EXPECT_EQ(reader.feed(hex("00")), 0u);
}

TEST(TagReaderTest, SaysWhatCameInsteadOfFlv) {
    const auto said = [](std::string_view text) {
        TagReader reader;
        Error error;
        read_all(reader, as_bytes(text), SIZE_MAX, &error);
        EXPECT_EQ(error.code(), ErrorCode::kMalformed);
        return std::string(error.message());
    };
    EXPECT_NE(said("#EXTM3U\n#EXT-X-VERSION:6\n").find("it is a playlist (HLS). A program can"),
              std::string::npos);
    EXPECT_NE(said("<?xml version=\"1.0\"?>").find("XML"), std::string::npos);
    EXPECT_NE(said("<!DOCTYPE html>").find("page for browsers"), std::string::npos);
    EXPECT_NE(said("<html><body>").find("page for browsers"), std::string::npos);
    EXPECT_NE(said("G@\x11 and so on").find("perhaps it is an MPEG transport stream"),
              std::string::npos)
        << "a text can begin with 'G', too";
    EXPECT_EQ(said("something else"), "not FLV: the file does not begin with 'FLV'");
}

TEST(TagReaderTest, FeedStopsBehindEachTag) {
    const Bytes one = tag(kAudioTag, 0, hex("aa"));
    TagReader reader;
    reader.feed(file_header());
    EXPECT_EQ(reader.feed(join({one, one})), one.size());
    EXPECT_EQ(reader.feed(one), 0u);
    Tag next;
    EXPECT_EQ(reader.next(next), TagReader::Status::kTag);
    EXPECT_EQ(reader.next(next), TagReader::Status::kNeedMore);
}

}  // namespace
}  // namespace weir::flv
