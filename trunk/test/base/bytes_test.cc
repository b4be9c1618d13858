#include "base/bytes.h"

#include <array>

#include <gtest/gtest.h>

namespace weir {
namespace {

const Bytes kSample = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a};

TEST(ByteReaderTest, ReadsBigEndian) {
    ByteReader reader(kSample);
    EXPECT_EQ(reader.u8(), 0x01);
    EXPECT_EQ(reader.u16(), 0x0203);
    EXPECT_EQ(reader.u24(), 0x040506U);
    EXPECT_EQ(reader.position(), 6U);
    EXPECT_EQ(reader.u32(), 0x0708090aU);
    EXPECT_TRUE(reader.empty());
    EXPECT_TRUE(reader.ok());
}

TEST(ByteReaderTest, ReadsTheOneLittleEndianField) {
    EXPECT_EQ(ByteReader(kSample).le32(), 0x04030201U);
}

TEST(ByteReaderTest, FailureIsStickyAndGivesZeros) {
    for (size_t size = 0; size < 8; size++) {
        ByteReader reader(ByteSpan(kSample).first(size));
        EXPECT_EQ(reader.u64(), 0U);
        EXPECT_FALSE(reader.ok()) << size;
        EXPECT_EQ(reader.remaining(), 0U);
        EXPECT_EQ(reader.u8(), 0U) << "bytes that were there are no longer given after a failure";
        EXPECT_FALSE(reader.ok());
    }
}

TEST(ByteReaderTest, TakesViewsOfTheInput) {
    ByteReader reader(kSample);
    reader.skip(2);
    const ByteSpan view = reader.take(3);
    EXPECT_EQ(view.data(), kSample.data() + 2);
    EXPECT_EQ(view.size(), 3U);
    EXPECT_EQ(reader.rest().size(), 5U);
    EXPECT_TRUE(reader.ok());
    EXPECT_TRUE(reader.take(0).empty());
    EXPECT_TRUE(reader.ok()) << "nothing is always there";
    EXPECT_TRUE(reader.take(1).empty());
    EXPECT_FALSE(reader.ok());
}

TEST(ByteReaderTest, RefusesAHugeSizeWithoutOverflow) {
    ByteReader reader(kSample);
    reader.skip(1);
    EXPECT_TRUE(reader.take(SIZE_MAX).empty());
    EXPECT_FALSE(reader.ok());
}

TEST(ByteReaderTest, PeekingAtTheEndIsNoFailure) {
    ByteReader reader(ByteSpan(kSample).first(1));
    EXPECT_EQ(reader.peek(), 0x01);
    EXPECT_EQ(reader.u8(), 0x01);
    EXPECT_EQ(reader.peek(), 0);
    EXPECT_TRUE(reader.ok());
}

TEST(ByteWriterTest, WritesWhatTheReaderReads) {
    Bytes out;
    ByteWriter(out)
        .u8(0xfe)
        .u16(0xfedc)
        .u24(0xfedcba)
        .u32(0xfedcba98)
        .u64(0xfedcba9876543210)
        .f64(-1.5)
        .le32(77)
        .text("ab");
    ByteReader reader(out);
    EXPECT_EQ(reader.u8(), 0xfe);
    EXPECT_EQ(reader.u16(), 0xfedc);
    EXPECT_EQ(reader.u24(), 0xfedcbaU);
    EXPECT_EQ(reader.u32(), 0xfedcba98U);
    EXPECT_EQ(reader.u64(), 0xfedcba9876543210U);
    EXPECT_EQ(reader.f64(), -1.5);
    EXPECT_EQ(reader.le32(), 77U);
    EXPECT_EQ(as_text(reader.rest()), "ab");
    EXPECT_TRUE(reader.ok());
}

TEST(ByteWriterTest, AppendsAndCutsHighBits) {
    Bytes out = {0xff};
    ByteWriter writer(out);
    writer.u24(0x12345678);
    EXPECT_EQ(out, (Bytes{0xff, 0x34, 0x56, 0x78}));
    EXPECT_EQ(writer.size(), 4U);
}

TEST(StoreTest, WritesBigEndianAtUnalignedPlaces) {
    std::array<uint8_t, 9> place{};
    store_u16(place.data() + 1, 0x0102);
    EXPECT_EQ(place, (std::array<uint8_t, 9>{0, 1, 2}));
    store_u24(place.data() + 1, 0x010203);
    EXPECT_EQ(place, (std::array<uint8_t, 9>{0, 1, 2, 3}));
    store_u32(place.data() + 1, 0x01020304);
    EXPECT_EQ(place, (std::array<uint8_t, 9>{0, 1, 2, 3, 4}));
    store_u64(place.data() + 1, 0x0102030405060708);
    EXPECT_EQ(place, (std::array<uint8_t, 9>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(ByteReaderTest, EveryFieldFailsWhereAByteIsMissing) {
    const auto fails = [](size_t size, auto read) {
        ByteReader whole(ByteSpan(kSample).first(size));
        read(whole);
        EXPECT_TRUE(whole.ok() && whole.empty()) << size;
        ByteReader cut(ByteSpan(kSample).first(size - 1));
        EXPECT_TRUE(read(cut) == 0) << size;
        EXPECT_TRUE(!cut.ok() && cut.empty()) << size;
    };
    fails(1, [](ByteReader& r) { return r.u8(); });
    fails(2, [](ByteReader& r) { return r.u16(); });
    fails(3, [](ByteReader& r) { return r.u24(); });
    fails(4, [](ByteReader& r) { return r.u32(); });
    fails(4, [](ByteReader& r) { return r.le32(); });
    fails(8, [](ByteReader& r) { return r.u64(); });
    fails(8, [](ByteReader& r) { return r.f64(); });
}

}  // namespace
}  // namespace weir
