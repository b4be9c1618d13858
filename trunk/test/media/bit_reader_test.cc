#include "media/bit_reader.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weir::media
