#include "media/bit_writer.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "media/bit_reader.h"

namespace weir::media {
namespace {

TEST(BitWriterTest, WritesFieldsAcrossBytes) {
    BitWriter writer;
    writer.bits(3, 5).bits(7, 0b0011000).flag(false).flag(false).bits(12, 0xFFF);
    EXPECT_EQ(writer.bytes(), (Bytes{0b1010'0110, 0b0000'1111, 0xFF}));
}

TEST(BitWriterTest, WritesTheExpGolombCodesOfTheStandard) {
    // H.264 table 9-2 and 9-3.
    const Bytes codes = {0b1010'0110, 0b0100'0010, 0b1000'0000};
    BitWriter unsigned_codes;
    for (uint32_t value = 0; value < 5; value++) {
        unsigned_codes.ue(value);
    }
    EXPECT_EQ(unsigned_codes.bytes(), codes);
    BitWriter signed_codes;
    for (const int32_t value : {0, 1, -1, 2, -2}) {
        signed_codes.se(value);
    }
    EXPECT_EQ(signed_codes.bytes(), codes);
}

TEST(BitWriterTest, TheLargestCodeIsReadAsItWasWritten) {
    BitWriter writer;
    writer.ue(UINT32_MAX - 1);
    BitReader reader(writer.bytes());
    EXPECT_EQ(reader.ue(), UINT32_MAX - 1);
    EXPECT_TRUE(reader.ok());
}

TEST(BitWriterTest, AlignmentIsABitAndZeros) {
    EXPECT_EQ(BitWriter().bits(3, 0).byte_align().bytes(), Bytes{0b0001'0000});
    EXPECT_EQ(BitWriter().bits(8, 0xFF).byte_align().bytes(), (Bytes{0xFF, 0x80}));
}

TEST(BitWriterTest, ANalUnitHasAStopBitAndNoStartCode) {
    EXPECT_EQ(BitWriter().bits(32, 0x000001FF).nal({0x68}), (Bytes{0x68, 0, 0, 3, 1, 0xFF, 0x80}));
    EXPECT_EQ(BitWriter().bits(32, 0).nal({0x68}), (Bytes{0x68, 0, 0, 3, 0, 0, 0x80}))
        << "no byte of 3 or less behind two of 0";
}

}  // namespace
}  // namespace weir::media
