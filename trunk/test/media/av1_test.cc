#include "media/av1.h"

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "test/support/bit_writer.h"
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

// What a sequence header may have before the size of the picture.
struct Operation {
    bool timing = false;
    bool decoder_model = false;
    bool initial_delay = false;
    std::vector<uint8_t> levels = {8};  // an operating point each
    bool high_tier = true;              // of the first
};

// §5.5.1: 1920x1080, all tools that take room.
test::BitWriter header_bits(uint8_t profile, const Operation& operation) {
    test::BitWriter w;
    w.bits(3, profile).flag(false).flag(false);
    w.flag(operation.timing);
    if (operation.timing) {
        w.bits(32, 1).bits(32, 60).flag(true).ue(70'000).flag(operation.decoder_model);
        if (operation.decoder_model) {
            w.bits(5, 22).bits(32, 1000).bits(5, 3).bits(5, 4);
        }
    }
    w.flag(operation.initial_delay).bits(5, operation.levels.size() - 1);
    for (size_t i = 0; i < operation.levels.size(); i++) {
        w.bits(12, 0xFFF).bits(5, operation.levels[i]);
        if (operation.levels[i] > 7) {
            w.flag(i == 0 && operation.high_tier);
        }
        if (operation.decoder_model) {
            w.flag(i % 2 == 0);
            w.bits(i % 2 == 0 ? 2 * 23 + 1 : 0, 0x2AAAAAAAAAAA);
        }
        if (operation.initial_delay) {
            w.flag(i % 2 == 1).bits(i % 2 == 1 ? 4 : 0, 9);
        }
    }
    w.bits(4, 10).bits(4, 11).bits(11, 1919).bits(12, 1079);
    w.flag(true).bits(7, 0x55);                       // frame ids
    w.bits(3, 7).bits(4, 15).flag(true).bits(2, 3);   // order hints
    w.flag(false).flag(true).flag(false).flag(true);  // screen content, no choice of vectors
    return w.bits(3, 6).bits(3, 7);
}

TEST(Av1Test, ReadsTheSizeBehindTimingAndOperatingPoints) {
    Operation operation;
    for (const size_t points : {size_t{1}, size_t{2}, size_t{32}}) {
        operation.levels.assign(points, 5);
        operation.levels[0] = 13;
        for (unsigned choice = 0; choice < 8; choice++) {
            operation.timing = (choice & 1U) != 0;
            operation.decoder_model = operation.timing && (choice & 2U) != 0;
            operation.initial_delay = (choice & 4U) != 0;
            const auto header = parse_sequence_header(header_bits(0, operation).bits(8, 0).bytes());
            ASSERT_TRUE(header) << choice;
            EXPECT_EQ(header->width, 1920U) << choice;
            EXPECT_EQ(header->height, 1080U) << choice;
            EXPECT_EQ(header->level_idx, 13) << choice;
            EXPECT_TRUE(header->high_tier) << choice;
        }
    }
}

TEST(Av1Test, OnlyLevelsAbove7HaveATier) {
    Operation operation;
    operation.levels = {7};
    const auto header = parse_sequence_header(header_bits(0, operation).bits(8, 0).bytes());
    ASSERT_TRUE(header);
    EXPECT_FALSE(header->high_tier);
    EXPECT_EQ(header->width, 1920U);
}

// The bits of color_config(), §5.5.2, and bytes 1 and 2 of the av1C that says the same.
struct ColorCase {
    const char* what;
    uint8_t profile;
    test::BitWriter color;
    Bytes expected;
};

std::vector<ColorCase> color_cases() {
    using test::BitWriter;
    const uint64_t srgb = 0x010D00;
    return {
        {"8 bits, 4:2:0, place 2", 0, BitWriter().bits(4, 0).bits(2, 2), {0x08, 0x8E}},
        {"10 bits, monochrome", 0, BitWriter().bits(4, 0b1100), {0x08, 0xDC}},
        {"10 bits, colours said",
         0,
         BitWriter().bits(3, 0b101).bits(24, 0x091009).flag(false).bits(2, 1),
         {0x08, 0xCD}},
        {"4:4:4", 1, BitWriter().bits(3, 0), {0x28, 0x80}},
        {"sRGB", 1, BitWriter().bits(2, 0b01).bits(24, srgb), {0x28, 0x80}},
        {"professional, 10 bits is 4:2:2", 2, BitWriter().bits(5, 0b10000), {0x48, 0xC8}},
        {"12 bits, 4:2:0", 2, BitWriter().bits(5, 0b11000).bits(2, 3).bits(2, 1), {0x48, 0xED}},
        {"12 bits, 4:2:2", 2, BitWriter().bits(5, 0b11000).bits(2, 2), {0x48, 0xE8}},
        {"12 bits, 4:4:4", 2, BitWriter().bits(5, 0b11000).bits(1, 0), {0x48, 0xE0}},
    };
}

Bytes obu_of(Bytes payload) {
    Bytes obu = {0x0A, static_cast<uint8_t>(payload.size())};
    obu.insert(obu.end(), payload.begin(), payload.end());
    return obu;
}

TEST(Av1ConfigTest, SaysEachKindOfColour) {
    for (ColorCase& c : color_cases()) {
        // Behind the colours: film_grain_params_present and the end of the OBU.
        const test::BitWriter bits = header_bits(c.profile, Operation());
        test::BitWriter whole = bits;
        const Bytes& color = c.color.bytes();
        for (uint8_t byte : color) {
            whole.bits(8, byte);
        }
        const Bytes record = build_config(obu_of(whole.bits(8, 0).bytes()));
        ASSERT_GT(record.size(), kConfigFixedSize) << c.what;
        EXPECT_EQ(Bytes(record.begin() + 1, record.begin() + 3), c.expected) << c.what;
    }
}

TEST(Av1Test, RefusesTheReservedProfilesAndHeadersThatAreCut) {
    for (uint8_t profile = 3; profile < 8; profile++) {
        EXPECT_FALSE(parse_sequence_header(header_bits(profile, Operation()).bits(32, 0).bytes()))
            << int{profile};
    }
    Operation operation;
    operation.timing = true;
    const Bytes whole = header_bits(0, operation).bytes();
    for (size_t size = 0; size < whole.size(); size++) {
        EXPECT_FALSE(parse_sequence_header(ByteSpan(whole).first(size))) << size;
    }
    // A timing whose interval never ends: all zeros.
    EXPECT_FALSE(parse_sequence_header(
        test::BitWriter().bits(6, 1).bits(64, 0).flag(true).bits(64, 0).bits(64, 0).bytes()));
}

TEST(Av1Test, TheLayerOfAUnitIsThatOfItsFirstFrame) {
    // Metadata in layer 3, frames in layers 1 and 2, a repeated header, tiles, padding.
    const FrameInfo info = inspect_frame(from_hex("2e6000 36200130 36400130 3e6000 2200 7a00"));
    EXPECT_TRUE(info.whole);
    EXPECT_EQ(info.temporal_id, 1);
    EXPECT_FALSE(info.key);
    // A repeated frame header shows no key frame of its own.
    EXPECT_FALSE(inspect_frame(from_hex("3a0110")).shown_key_frame);
    EXPECT_TRUE(inspect_frame(from_hex("1a0110")).shown_key_frame);
}

TEST(Av1Test, ABrokenSequenceHeaderMakesNoKeyFrame) {
    const FrameInfo info = inspect_frame(from_hex("0a020000 320110"));
    EXPECT_TRUE(info.whole && info.shown_key_frame);
    EXPECT_FALSE(info.sequence_header || info.key);
}

TEST(Av1Test, AnObuWithoutASizeReachesToTheEnd) {
    const Bytes unit = from_hex("1200 30 10aabb");
    ObuReader reader(unit);
    ObuView obu;
    ASSERT_TRUE(reader.next(obu) && reader.next(obu));
    EXPECT_EQ(obu.whole.size(), 4U);
    EXPECT_EQ(obu.payload.size(), 3U);
    EXPECT_EQ(obu.extension, 0);
    EXPECT_FALSE(reader.next(obu));
    EXPECT_TRUE(reader.ok());
    // In a configuration it must have one: the record may be followed by more.
    Bytes unsized = test::kAv1SequenceHeader;
    unsized.erase(unsized.begin() + 1);
    unsized[0] = 0x08;
    EXPECT_TRUE(build_config(unsized).empty());
}

}  // namespace
}  // namespace weir::media::av1
