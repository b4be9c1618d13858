#include "proto/mpegts/section.h"

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"
#include "test/support/payloads.h"

namespace weir::mpegts {
namespace {

using test::from_hex;

// A PAT of ffmpeg 5.1 (mpegts muxer): program 1 at PID 0x1000.
const Bytes kPat = from_hex("00b00d0001c100000001f0002ab104b2");

// A private table with a right CRC.
Bytes section(size_t size, uint8_t marker = 1) {
    Bytes out = {0x80, static_cast<uint8_t>(0xB0 | (size - 3) >> 8),
                 static_cast<uint8_t>(size - 3)};
    out = test::counted(std::move(out), size - kCrcSize, marker);
    ByteWriter(out).u32(crc32(out));
    return out;
}

struct Assembled {
    SectionAssembler assembler;
    std::vector<Bytes> sections;

    void feed(ByteSpan payload, bool start) {
        assembler.feed(payload, start, [this](ByteSpan section) {
            sections.emplace_back(section.begin(), section.end());
        });
    }
};

Bytes with_pointer(const std::vector<Bytes>& parts, uint8_t pointer = 0) {
    Bytes out = {pointer};
    for (const Bytes& part : parts) {
        out.insert(out.end(), part.begin(), part.end());
    }
    return out;
}

TEST(SectionTest, TheCrcIsThatOfMpeg2) {
    EXPECT_EQ(crc32(as_bytes("123456789")), 0x0376E6E7U);  // the check value of CRC-32/MPEG-2
    EXPECT_EQ(crc32(kPat), 0U);
}

TEST(SectionTest, GivesOneSectionInOnePacket) {
    Assembled it;
    it.feed(with_pointer({kPat, Bytes(20, 0xFF)}), true);
    ASSERT_EQ(it.sections.size(), 1U);
    EXPECT_EQ(it.sections[0], kPat);
    EXPECT_EQ(it.assembler.bad(), 0U);
}

TEST(SectionTest, PutsPiecesOfAnySizeTogether) {
    const Bytes first = section(400);
    const Bytes second = section(50, 9);
    Bytes all = first;
    all.insert(all.end(), second.begin(), second.end());
    for (size_t step = 1; step < 60; step++) {
        Assembled it;
        it.feed(with_pointer({Bytes(all.begin(), all.begin() + 1)}), true);
        for (size_t at = 1; at < all.size(); at += step) {
            it.feed(ByteSpan(all).subspan(at, std::min(step, all.size() - at)), false);
        }
        ASSERT_EQ(it.sections.size(), 2U) << step;
        EXPECT_EQ(it.sections[0], first);
        EXPECT_EQ(it.sections[1], second);
    }
}

TEST(SectionTest, ASectionEndsBeforeThePointerAndTheNextBeginsThere) {
    const Bytes first = section(100);
    const Bytes tail(first.begin() + 60, first.end());
    Assembled it;
    it.feed(with_pointer({Bytes(first.begin(), first.begin() + 60)}), true);
    it.feed(with_pointer({tail, kPat, kPat}, static_cast<uint8_t>(tail.size())), true);
    ASSERT_EQ(it.sections.size(), 3U);
    EXPECT_EQ(it.sections[0], first);
    EXPECT_EQ(it.sections[2], kPat);
}

TEST(SectionTest, WithoutTheBeginningNothingIsGiven) {
    Assembled it;
    it.feed(kPat, false);
    EXPECT_TRUE(it.sections.empty());
    it.feed(with_pointer({Bytes(kPat.begin(), kPat.begin() + 8)}), true);
    it.assembler.reset();
    it.feed(ByteSpan(kPat).subspan(8), false);
    EXPECT_TRUE(it.sections.empty());
}

TEST(SectionTest, AWrongCrcIsCountedAndTheNextSectionIsRead) {
    Bytes broken = kPat;
    broken[9] ^= 1;
    Assembled it;
    it.feed(with_pointer({broken, kPat}), true);
    ASSERT_EQ(it.sections.size(), 1U);
    EXPECT_EQ(it.sections[0], kPat);
    EXPECT_EQ(it.assembler.bad(), 1U);
}

TEST(SectionTest, RefusesWhatIsTooLongOrNoSection) {
    Assembled it;
    it.feed(with_pointer({from_hex("80bfff"), kPat}), true);  // 4,098 bytes
    EXPECT_EQ(it.assembler.bad(), 1U);
    it.feed(from_hex("ff"), true);  // the pointer goes past the end
    EXPECT_EQ(it.assembler.bad(), 2U);
    it.feed({}, true);
    EXPECT_EQ(it.assembler.bad(), 3U);
    it.feed(with_pointer({from_hex("803000")}), true);  // no syntax indicator, no CRC
    EXPECT_EQ(it.assembler.bad(), 4U);
    it.feed(with_pointer({section(kMaxSectionBytes)}), true);
    ASSERT_EQ(it.sections.size(), 1U);
    EXPECT_EQ(it.sections[0].size(), kMaxSectionBytes);
}

}  // namespace
}  // namespace weir::mpegts
