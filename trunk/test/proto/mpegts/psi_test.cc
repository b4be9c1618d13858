#include "proto/mpegts/psi.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "proto/mpegts/section.h"

#include "test/support/codec_samples.h"

namespace weir::mpegts {
namespace {

using test::from_hex;

// Of ffmpeg 5.1: program 1, H.264 at 0x100 (which has the PCR), AAC at 0x101.
const Bytes kPmt = from_hex("02b0170001c10000e100f0001be100f0000fe101f0002f44b99b");
const Bytes kPat = from_hex("00b00d0001c100000001f0002ab104b2");

template <typename Table>
Bytes written(const Table& table) {
    Bytes out;
    table.write(out);
    return out;
}

// With a right CRC in place of the old one.
Bytes resealed(Bytes section) {
    section.resize(section.size() - kCrcSize);
    const uint32_t crc = crc32(section);
    ByteWriter(section).u32(crc);
    return section;
}

Pmt pmt_of(const std::vector<StreamInfo>& streams) {
    Pmt pmt;
    pmt.program = 7;
    pmt.version = 31;
    pmt.pcr_pid = 0x100;
    pmt.streams = streams;
    return pmt;
}

StreamInfo stream(Content content, uint8_t type, uint8_t channels = 0) {
    StreamInfo info;
    info.pid = 0x100;
    info.stream_type = type;
    info.content = content;
    info.channels = channels;
    return info;
}

// Another stream_type with these descriptors.
Content content_of(std::string_view descriptors, uint8_t type = 0x06) {
    const Bytes body = from_hex(descriptors);
    Bytes section = from_hex("02b0000001c10000e100f000");
    ByteWriter(section).u8(type).u16(0xE100).u16(static_cast<uint16_t>(0xF000 | body.size()));
    section.insert(section.end(), body.begin(), body.end());
    section[2] = static_cast<uint8_t>(section.size() + kCrcSize - 3);
    section.resize(section.size() + kCrcSize);
    const auto pmt = Pmt::parse(resealed(section));
    EXPECT_TRUE(pmt && pmt->streams.size() == 1);
    return pmt && !pmt->streams.empty() ? pmt->streams[0].content : Content::kOtherVideo;
}

TEST(PsiTest, ReadsAndWritesThePatOfFfmpeg) {
    const auto pat = Pat::parse(kPat);
    ASSERT_TRUE(pat);
    EXPECT_EQ(pat->transport_stream, 1);
    ASSERT_EQ(pat->programs.size(), 1U);
    EXPECT_EQ(pat->programs[0], (Pat::Entry{1, 0x1000}));
    EXPECT_EQ(written(*pat), kPat);
}

TEST(PsiTest, ReadsAndWritesThePmtOfFfmpeg) {
    const auto pmt = Pmt::parse(kPmt);
    ASSERT_TRUE(pmt);
    EXPECT_EQ(pmt->program, 1);
    EXPECT_EQ(pmt->pcr_pid, 0x100);
    ASSERT_EQ(pmt->streams.size(), 2U);
    EXPECT_EQ(pmt->streams[0].content, Content::kH264);
    EXPECT_EQ(pmt->streams[1].content, Content::kAac);
    EXPECT_EQ(pmt->streams[1].pid, 0x101);
    EXPECT_EQ(written(*pmt), kPmt);
}

TEST(PsiTest, EveryContentComesBackAsItWasWritten) {
    const std::vector<StreamInfo> all = {
        stream(Content::kH264, 0x1B),      stream(Content::kHevc, 0x24),
        stream(Content::kAac, 0x0F),       stream(Content::kAacLatm, 0x11),
        stream(Content::kMpegAudio, 0x03), stream(Content::kMpegAudio, 0x04),
        stream(Content::kAc3, 0x81),       stream(Content::kEac3, 0x87),
        stream(Content::kOpus, 0x06, 2),   stream(Content::kMpegVideo, 0x02)};
    for (StreamInfo info : all) {
        info.language = {'d', 'e', 'u'};
        const Pmt pmt = pmt_of({info, info});
        const Bytes bytes = written(pmt);
        EXPECT_EQ(crc32(bytes), 0U);
        EXPECT_EQ(Pmt::parse(bytes), pmt) << to_string(info.content);
    }
}

TEST(PsiTest, DescriptorsNameCodecsOfPrivateStreams) {
    EXPECT_EQ(content_of("6a0100"), Content::kAc3);
    EXPECT_EQ(content_of("7a0100"), Content::kEac3);
    EXPECT_EQ(content_of("050441432d33"), Content::kAc3);
    EXPECT_EQ(content_of("050445414333"), Content::kEac3);
    EXPECT_EQ(content_of("050448455643"), Content::kHevc);
    EXPECT_EQ(content_of("05044f707573 7f028002"), Content::kOpus);
    EXPECT_EQ(content_of("59086465750000010001"), Content::kSubtitles);
    EXPECT_EQ(content_of("5605646575 0900"), Content::kTeletext);
    EXPECT_EQ(content_of("0504 4b4c5641"), Content::kUnknown);  // KLV metadata
    EXPECT_EQ(content_of(""), Content::kUnknown);
    EXPECT_EQ(content_of("6a0100", 0x1B), Content::kH264);  // the type says it
}

TEST(PsiTest, TypesWithoutAUseHereAreKnownAsWhatTheyAre) {
    EXPECT_EQ(content_of("", 0x01), Content::kMpegVideo);
    EXPECT_EQ(content_of("", 0x33), Content::kOtherVideo);
    EXPECT_EQ(content_of("", 0x82), Content::kOtherAudio);
    EXPECT_EQ(content_of("", 0x86), Content::kOtherAudio);
    EXPECT_EQ(content_of("", 0x05), Content::kUnknown);
    EXPECT_TRUE(is_video(Content::kMpegVideo));
    EXPECT_TRUE(is_audio(Content::kOtherAudio));
    EXPECT_FALSE(is_audio(Content::kSubtitles));
    EXPECT_FALSE(is_video(Content::kUnknown));
}

TEST(PsiTest, EveryTruncationIsRefused) {
    for (size_t size = 0; size < kPmt.size(); size++) {
        Pmt::parse(ByteSpan(kPmt).first(size));  // reads nothing past the end
        Pat::parse(ByteSpan(kPat).first(std::min(size, kPat.size())));
    }
    // Lengths inside that go past the end of the section.
    Bytes section = kPmt;
    section[11] = 0xFF;  // of the descriptors of the programme
    EXPECT_FALSE(Pmt::parse(resealed(section)));
    section = kPmt;
    section[21] = 0x05;  // of those of a stream
    EXPECT_FALSE(Pmt::parse(resealed(section)));
    section = kPat;
    section.insert(section.begin() + 12, 0);
    EXPECT_FALSE(Pat::parse(section));
}

TEST(PsiTest, RefusesOtherTablesAndWhatIsNotInForceYet) {
    EXPECT_FALSE(Pat::parse(kPmt));
    EXPECT_FALSE(Pmt::parse(kPat));
    Bytes next = kPat;
    next[5] &= 0xFE;
    EXPECT_FALSE(Pat::parse(resealed(next)));
    Bytes many = kPmt;
    many[7] = 1;  // a PMT is one section
    EXPECT_FALSE(Pmt::parse(resealed(many)));
    Bytes numbers = kPat;
    numbers[6] = 2;  // the third of one
    EXPECT_FALSE(Pat::parse(resealed(numbers)));
}

TEST(PsiTest, TheNetworkIsNoProgramme) {
    Pat pat;
    pat.programs = {{0, 16}, {3, 0x30}};
    const auto read = Pat::parse(written(pat));
    ASSERT_TRUE(read);
    ASSERT_EQ(read->programs.size(), 1U);
    EXPECT_EQ(read->programs[0].program, 3);
}

TEST(PsiTest, MoreStreamsThanTheLimitAreNotRead) {
    std::vector<StreamInfo> many;
    for (size_t i = 0; i < kMaxStreams + 8; i++) {
        many.push_back(stream(Content::kAac, 0x0F));
    }
    const auto pmt = Pmt::parse(written(pmt_of(many)));
    ASSERT_TRUE(pmt);
    EXPECT_EQ(pmt->streams.size(), kMaxStreams);
}

}  // namespace
}  // namespace weir::mpegts
