#include "media/av1.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"

namespace weir::media::av1 {
namespace {

using test::from_hex;

TEST(Av1Test, ReadsAndWritesLeb128) {
    for (uint64_t value : {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{16383},
                           uint64_t{16384}, uint64_t{UINT32_MAX}}) {
        std::array<uint8_t, kMaxLeb128Size> out{};
        const size_t size = write_leb128(value, out.data());
        EXPECT_EQ(size, leb128_size(value));
        ByteReader reader(ByteSpan(out).first(size));
        EXPECT_EQ(read_leb128(reader), value);
        EXPECT_TRUE(reader.ok() && reader.empty());
        ByteReader cut(ByteSpan(out).first(size - 1));
        read_leb128(cut);
        EXPECT_FALSE(cut.ok());
    }
    const Bytes with_zeros = {0x85, 0x80, 0x00};  // longer than it needs to be, but legal
    ByteReader padded(with_zeros);
    EXPECT_EQ(read_leb128(padded), 5U);
    for (const char* hex : {"ffffffffffffffff01", "8080808010", "ffffffff1f"}) {
        const Bytes bytes = from_hex(hex);
        ByteReader reader(bytes);
        read_leb128(reader);
        EXPECT_FALSE(reader.ok()) << hex;
    }
}

TEST(Av1Test, ReadsTheObusOfAUnit) {
    const Bytes unit = from_hex("1200 0a0b000000043d06c4daf90040 36 28 01ab 32 02 1000");
    ObuReader reader(unit);
    std::vector<ObuType> types;
    ObuView obu;
    while (reader.next(obu)) {
        types.push_back(obu.type);
    }
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(types, (std::vector{ObuType::kTemporalDelimiter, ObuType::kSequenceHeader,
                                  ObuType::kFrame, ObuType::kFrame}));
    EXPECT_EQ(obu.payload.size(), 2U);
    EXPECT_EQ(find_sequence_header(unit).size(), test::kAv1SequenceHeader.size());
}

TEST(Av1Test, ReadsLayersOfAnExtension) {
    const Bytes unit = from_hex("36 48 01ab");
    ObuReader reader(unit);
    ObuView obu;
    ASSERT_TRUE(reader.next(obu));
    EXPECT_TRUE(obu.has_extension());
    EXPECT_EQ(temporal_id(obu.extension), 2);
    EXPECT_EQ(spatial_id(obu.extension), 1);
}

TEST(Av1Test, RefusesObusThatAreCutOrForbidden) {
    for (const char* hex : {"0a0b00", "36", "3648", "0aff", "8a00"}) {
        const Bytes unit = from_hex(hex);
        ObuReader reader(unit);
        ObuView obu;
        EXPECT_FALSE(reader.next(obu)) << hex;
        EXPECT_FALSE(reader.ok()) << hex;
        EXPECT_FALSE(inspect_frame(unit).whole) << hex;
    }
}

TEST(Av1Test, ReadsTheSequenceHeaderOfAnEncoder) {
    auto header = parse_sequence_header(ByteSpan(test::kAv1SequenceHeader).subspan(2));
    ASSERT_TRUE(header);
    EXPECT_EQ(header->profile, 0);
    EXPECT_EQ(header->width, test::kSampleWidth);
    EXPECT_EQ(header->height, test::kSampleHeight);
    EXPECT_FALSE(header->high_bitdepth);
    EXPECT_FALSE(header->monochrome);
    EXPECT_TRUE(header->subsampling_x && header->subsampling_y);
    for (size_t size = 0; size < 9; size++) {
        EXPECT_FALSE(parse_sequence_header(ByteSpan(test::kAv1SequenceHeader).subspan(2, size)));
    }
}

TEST(Av1Test, ReadsAReducedStillPictureHeader) {
    // profile 0, still, reduced, level 5, 4 bits each: 16x16; no tools; colours not said.
    const Bytes payload = {0b0001'1001, 0b0100'1100, 0b1111'1111, 0b1111'0000, 0x00, 0x00};
    auto header = parse_sequence_header(payload);
    ASSERT_TRUE(header);
    EXPECT_TRUE(header->reduced_still_picture);
    EXPECT_EQ(header->level_idx, 5);
}

TEST(Av1Test, KnowsKeyFrames) {
    // The first bytes of frames of libaom: shown key frame, inter frame; the sizes are cut.
    Bytes key = test::kAv1SequenceHeader;
    const Bytes key_frame = from_hex("3204 1000 81e0");
    key.insert(key.end(), key_frame.begin(), key_frame.end());
    EXPECT_TRUE(inspect_frame(key).key);
    EXPECT_TRUE(inspect_frame(key).sequence_header);
    EXPECT_TRUE(inspect_frame(key_frame).shown_key_frame);
    EXPECT_FALSE(inspect_frame(key_frame).key);
    EXPECT_FALSE(inspect_frame(from_hex("3204 30038080")).key);
    // show_existing_frame, and a key frame that is not shown.
    EXPECT_FALSE(inspect_frame(from_hex("1a01 90")).shown_key_frame);
    EXPECT_FALSE(inspect_frame(from_hex("3201 00")).shown_key_frame);
}

TEST(Av1ConfigTest, BuildsTheRecordOfAnotherMuxer) {
    EXPECT_EQ(build_config(test::kAv1SequenceHeader), test::kAv1Config);
    auto obus = parse_config(test::kAv1Config);
    ASSERT_TRUE(obus);
    EXPECT_EQ(Bytes(obus->begin(), obus->end()), test::kAv1SequenceHeader);
    EXPECT_TRUE(build_config(from_hex("1200")).empty());
    EXPECT_TRUE(build_config(from_hex("0a01")).empty());
    EXPECT_TRUE(build_config({}).empty());
    EXPECT_FALSE(parse_config(from_hex("810000")));
    EXPECT_FALSE(parse_config(from_hex("01000c00")));
}

}  // namespace
}  // namespace weir::media::av1
