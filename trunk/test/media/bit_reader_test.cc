#include "media/bit_reader.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "test/support/bit_writer.h"

namespace weir::media {
namespace {

TEST(BitReaderTest, ReadsFieldsAcrossBytes) {
    const Bytes bytes = {0b1010'0110, 0b0000'1111, 0xFF};
    BitReader reader(bytes);
    EXPECT_EQ(reader.bits(3), 5U);
    EXPECT_EQ(reader.bits(7), 0b0011000U);
    EXPECT_FALSE(reader.flag());
    EXPECT_TRUE(reader.flag() == false);
    EXPECT_EQ(reader.bits(12), 0xFFFU);
    EXPECT_TRUE(reader.ok());
}

TEST(BitReaderTest, FailsOnceAndForAllBehindTheEnd) {
    const Bytes bytes = {0xFF};
    BitReader reader(bytes);
    EXPECT_EQ(reader.bits(9), 0U);
    EXPECT_FALSE(reader.ok());
    EXPECT_EQ(reader.bit(), 0U);
    EXPECT_EQ(reader.ue(), 0U);
}

TEST(BitReaderTest, ReadsTheExpGolombCodesOfTheStandard) {
    // H.264 table 9-2 and 9-3: 1, 010, 011, 00100, 00101 are 0 to 4, signed 0, 1, -1, 2, -2.
    const Bytes bytes = {0b1010'0110, 0b0100'0010, 0b1000'0000};
    BitReader unsigned_codes(bytes);
    for (uint32_t expected = 0; expected < 5; expected++) {
        EXPECT_EQ(unsigned_codes.ue(), expected);
    }
    BitReader signed_codes(bytes);
    for (int32_t expected : {0, 1, -1, 2, -2}) {
        EXPECT_EQ(signed_codes.se(), expected);
    }
}

TEST(BitReaderTest, ReadsTheLongestCodeAndRefusesLongerOnes) {
    const Bytes longest = {0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFE};
    EXPECT_EQ(BitReader(longest).ue(), 0xFFFFFFFEU);
    const Bytes longer = {0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0};
    BitReader reader(longer);
    EXPECT_EQ(reader.ue(), 0U);
    EXPECT_FALSE(reader.ok());
}

TEST(BitReaderTest, LeavesEmulationPreventionBytesOut) {
    const Bytes bytes = {0, 0, 3, 1, 0, 0, 3, 0, 0, 3};
    BitReader nal(bytes, BitReader::Escapes::kNalUnit);
    for (uint32_t expected : {0U, 0U, 1U, 0U, 0U, 0U, 0U}) {
        EXPECT_EQ(nal.bits(8), expected);
    }
    EXPECT_TRUE(nal.ok());
    nal.bit();
    EXPECT_FALSE(nal.ok());
    BitReader plain(bytes);
    plain.skip(16);
    EXPECT_EQ(plain.bits(8), 3U);
}

TEST(BitReaderTest, GivesNothingOfAFieldThatIsCut) {
    const Bytes bytes = {0xFF, 0xFF, 0xFF, 0xFF};
    BitReader whole(bytes);
    EXPECT_EQ(whole.bits(32), UINT32_MAX);
    EXPECT_TRUE(whole.ok()) << "the end itself is no failure";
    for (unsigned before = 1; before < 32; before++) {
        BitReader cut(bytes);
        cut.skip(before);
        EXPECT_EQ(cut.bits(32), 0U) << before;
        EXPECT_FALSE(cut.ok()) << before;
    }
    BitReader far(bytes);
    far.skip(SIZE_MAX);
    EXPECT_FALSE(far.ok());
    const Bytes cut_code = {0b0001'0000};
    BitReader code(cut_code);
    EXPECT_EQ(BitReader(cut_code).ue(), 7U);
    code.bit();
    code.skip(1);
    EXPECT_EQ(code.ue(), 1U);
    EXPECT_EQ(code.ue(), 0U);
    EXPECT_FALSE(code.ok());
}

TEST(BitReaderTest, ReadsTheLargestSignedCodes) {
    for (int32_t value : {INT32_MAX, -INT32_MAX, 1'000'000, -1'000'000}) {
        const Bytes bytes = test::BitWriter().se(value).bytes();
        EXPECT_EQ(BitReader(bytes).se(), value);
    }
}

TEST(BitReaderTest, OnlyA3BehindTwoZerosIsAnEscape) {
    const auto second = [](const Bytes& bytes) {
        BitReader reader(bytes, BitReader::Escapes::kNalUnit);
        reader.skip(8 * (bytes.size() - 1));
        return reader.bits(8);
    };
    EXPECT_EQ(second({0, 1, 0, 3}), 3U);
    EXPECT_EQ(second({0, 0, 4, 3}), 3U);
    EXPECT_EQ(second({0, 0, 1}), 1U) << "what no encoder writes is taken as it is";
    // The first 3 is the escape, and counting starts again behind it.
    const Bytes twice = {0, 0, 3, 3, 0, 3};
    BitReader reader(twice, BitReader::Escapes::kNalUnit);
    EXPECT_EQ(reader.bits(32), 0x00000300U);
    EXPECT_EQ(reader.bits(8), 3U);
    EXPECT_TRUE(reader.ok());
    reader.bit();
    EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace weir::media
