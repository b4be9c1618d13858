#include "proto/mpegts/pes.h"

#include <array>

#include <gtest/gtest.h>

#include "proto/mpegts/packet.h"

#include "test/support/codec_samples.h"

namespace weir::mpegts {
namespace {

using Status = PesHeader::Status;
using test::from_hex;

// PTS 0x1_2345_6789, DTS 0x0_0000_0001, as ISO/IEC 13818-1 table 2-21 lays them out.
const Bytes kBoth = from_hex("000001e0 0000 84c0 0a 39 8d15 cf13 11 0001 0003");

Bytes written(const PesHeader& header) {
    std::array<uint8_t, kMaxWrittenPesHeader> out;
    return {out.data(), out.data() + header.write(out.data())};
}

TEST(PesTest, ReadsBothTimes) {
    PesHeader header;
    ASSERT_EQ(PesHeader::parse(kBoth, header), Status::kDone);
    EXPECT_EQ(header.stream_id, kVideoStreamId);
    EXPECT_TRUE(header.aligned);
    EXPECT_EQ(header.pts, 0x1'2345'6789U);
    EXPECT_EQ(header.dts, 1U);
    EXPECT_FALSE(header.payload_size);
    EXPECT_EQ(header.size, kBoth.size());
}

TEST(PesTest, WritesWhatItReads) {
    PesHeader header;
    ASSERT_EQ(PesHeader::parse(kBoth, header), Status::kDone);
    EXPECT_EQ(written(header), kBoth);
    header.dts.reset();
    header.payload_size = 100;
    header.stream_id = kAudioStreamId;
    const Bytes audio = written(header);
    EXPECT_EQ(audio, from_hex("000001c0 006c 8480 05 29 8d15 cf13"));
    PesHeader again;
    ASSERT_EQ(PesHeader::parse(audio, again), Status::kDone);
    EXPECT_EQ(again.payload_size, 100U);
    EXPECT_EQ(again.pts, header.pts);
    EXPECT_FALSE(again.dts);
}

TEST(PesTest, TimesOfEachBitComeBack) {
    for (int bit = 0; bit < 33; bit++) {
        PesHeader header;
        header.stream_id = kVideoStreamId;
        header.pts = uint64_t{1} << bit;
        header.dts = *header.pts ^ kTimeMask;
        PesHeader again;
        ASSERT_EQ(PesHeader::parse(written(header), again), Status::kDone);
        EXPECT_EQ(again.pts, header.pts);
        EXPECT_EQ(again.dts, header.dts);
    }
}

TEST(PesTest, APayloadTooLongForTheFieldIsOfUnknownSize) {
    PesHeader header;
    header.stream_id = kVideoStreamId;
    header.payload_size = 65'532;  // with three bytes of header: 65,535
    PesHeader again;
    ASSERT_EQ(PesHeader::parse(written(header), again), Status::kDone);
    EXPECT_EQ(again.payload_size, header.payload_size);
    header.payload_size = 65'533;
    ASSERT_EQ(PesHeader::parse(written(header), again), Status::kDone);
    EXPECT_FALSE(again.payload_size);
}

TEST(PesTest, EveryTruncationNeedsMore) {
    PesHeader header;
    for (size_t size = 0; size < kBoth.size(); size++) {
        EXPECT_EQ(PesHeader::parse(ByteSpan(kBoth).first(size), header), Status::kNeedMore);
    }
}

TEST(PesTest, RefusesWhatIsNoHeader) {
    PesHeader header;
    EXPECT_EQ(PesHeader::parse(from_hex("01"), header), Status::kMalformed);
    EXPECT_EQ(PesHeader::parse(from_hex("000002e0"), header), Status::kMalformed);
    EXPECT_EQ(PesHeader::parse(from_hex("000001e0 0000 0080 05 2100010001"), header),
              Status::kMalformed);  // MPEG-1 systems
    EXPECT_EQ(PesHeader::parse(from_hex("000001e0 0004 8080 05 2100010001"), header),
              Status::kMalformed);  // shorter than its header
}

TEST(PesTest, SkipsFieldsThatAreNotNeeded) {
    PesHeader header;
    // PTS, ESCR and stuffing.
    ASSERT_EQ(
        PesHeader::parse(from_hex("000001e0 0000 80a0 0d 2100010001 0102030405 06 ffff"), header),
        Status::kDone);
    EXPECT_EQ(header.pts, 0U);
    EXPECT_EQ(header.size, 22U);
    // A PTS that the header has no room for.
    ASSERT_EQ(PesHeader::parse(from_hex("000001e0 0000 8080 03 ffffff"), header), Status::kDone);
    EXPECT_FALSE(header.pts);
}

TEST(PesTest, StreamsWithoutSuchAHeader) {
    PesHeader header;
    ASSERT_EQ(PesHeader::parse(from_hex("000001be 0010"), header), Status::kDone);
    EXPECT_EQ(header.size, 6U);
    EXPECT_EQ(header.payload_size, 16U);
}

TEST(PesTest, SaysWhatIsScrambled) {
    PesHeader header;
    ASSERT_EQ(PesHeader::parse(from_hex("000001e0 0000 a000 00"), header), Status::kDone);
    EXPECT_TRUE(header.scrambled);
}

}  // namespace
}  // namespace weir::mpegts
