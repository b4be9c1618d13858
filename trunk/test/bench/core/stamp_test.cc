#include "bench/load/core/stamp.h"

#include <array>

#include <gtest/gtest.h>

namespace weir::load {
namespace {

constexpr Stamp kStamp{7, 0xdeadbeef, 123456, 0x0123456789abcdef, 1800, 59};

std::array<uint8_t, kStampSize> written(const Stamp& stamp) {
    std::array<uint8_t, kStampSize> out{};
    write_stamp(out, stamp);
    return out;
}

TEST(StampTest, RoundTrips) {
    EXPECT_EQ(parse_stamp(written(kStamp)), kStamp);
    EXPECT_EQ(parse_stamp(written(Stamp{})), Stamp{});
    Stamp most{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT64_MAX, UINT32_MAX, UINT16_MAX};
    EXPECT_EQ(parse_stamp(written(most)), most);
}

TEST(StampTest, FieldsStandAsHexadecimalDigitsInOrder) {
    auto bytes = written(kStamp);
    EXPECT_EQ(as_text(bytes).substr(0, 52), "00000007deadbeef0001e2400123456789abcdef00000708003b");
}

TEST(StampTest, EveryChangedByteIsNoticed) {
    for (size_t i = 0; i < kStampSize; i++) {
        auto bytes = written(kStamp);
        bytes[i] = bytes[i] == '0' ? '1' : '0';
        EXPECT_FALSE(parse_stamp(bytes)) << "digit " << i;
        bytes[i] = 'G';
        EXPECT_FALSE(parse_stamp(bytes)) << "digit " << i;
    }
}

TEST(FillerTest, HoldsNoZeroByteAndMatchesItself) {
    Bytes filler(100'000);
    fill(filler, 12345);
    EXPECT_TRUE(filler_equals(filler, 12345));
    for (uint8_t byte : filler) {
        ASSERT_NE(byte, 0);
    }
}

TEST(FillerTest, ContinuesAtAnyOffset) {
    Bytes filler(40'000);
    uint64_t start = filler_start(kStamp, FillerKind::kVideo);
    fill(filler, start);
    for (size_t cut : {1UL, 100UL, 16'380UL, 16'381UL, 16'382UL, 39'999UL}) {
        EXPECT_TRUE(filler_equals(ByteSpan(filler).subspan(cut), start + cut)) << cut;
    }
}

TEST(FillerTest, AnyChangedByteDiffers) {
    Bytes filler(300);
    fill(filler, 16'300);
    for (size_t i = 0; i < filler.size(); i++) {
        filler[i] ^= 1;
        EXPECT_FALSE(filler_equals(filler, 16'300)) << i;
        filler[i] ^= 1;
    }
}

TEST(FillerTest, DependsOnStreamSequenceAndKind) {
    Stamp other = kStamp;
    other.sequence++;
    EXPECT_NE(filler_start(kStamp, FillerKind::kVideo), filler_start(other, FillerKind::kVideo));
    other = kStamp;
    other.stream++;
    EXPECT_NE(filler_start(kStamp, FillerKind::kVideo), filler_start(other, FillerKind::kVideo));
    EXPECT_NE(filler_start(kStamp, FillerKind::kVideo), filler_start(kStamp, FillerKind::kAudio));
}

}  // namespace
}  // namespace weir::load
