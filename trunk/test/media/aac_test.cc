#include "media/aac.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "test/support/bit_writer.h"

namespace weir::media::aac {
namespace {

TEST(AacTest, ReadsTheConfigurationsOfEncoders) {
    struct Case {
        Bytes config;
        uint8_t object_type;
        uint32_t sample_rate;
        uint8_t channels;
    };

    // ISO/IEC 14496-3 §1.6.2.1, by hand; the first is what ffmpeg and OBS send.
    const Case cases[] = {
        {{0x12, 0x10}, 2, 44'100, 2},
        {{0x11, 0x90}, 2, 48'000, 2},
        {{0x15, 0x88}, 2, 8'000, 1},
        // LC, 22,050 Hz, stereo, SBR signalled behind it (0x2B7): 44,100 Hz.
        {{0x13, 0x90, 0x56, 0xE5, 0xA0}, 5, 44'100, 2},
        // The same without SBR.
        {{0x13, 0x90, 0x56, 0xE5, 0x00}, 2, 22'050, 2},
        // SBR first: type 5, core 24,000, stereo, 48,000, type 2.
        {{0x2B, 0x11, 0x88, 0x00}, 5, 48'000, 2},
        // PS: type 29, core 24,000, mono, 48,000, type 2.
        {{0xEB, 0x09, 0x88, 0x00}, 29, 48'000, 2},
        // A rate that is written out: 15, then 24 bits (12,345).
        {{0x17, 0x80, 0x18, 0x1C, 0x90}, 2, 12'345, 2},
    };
    for (const Case& each : cases) {
        const auto config = parse_config(each.config);
        ASSERT_TRUE(config) << int{each.config[0]};
        EXPECT_EQ(config->object_type, each.object_type) << int{each.config[0]};
        EXPECT_EQ(config->sample_rate, each.sample_rate) << int{each.config[0]};
        EXPECT_EQ(config->channels, each.channels) << int{each.config[0]};
    }
}

TEST(AacTest, RefusesWhatIsCutOffOrCannotBe) {
    EXPECT_FALSE(parse_config({}));
    const Bytes cut{0x12};
    EXPECT_FALSE(parse_config(cut));
    const Bytes rate{0x16, 0x90};  // index 13
    EXPECT_FALSE(parse_config(rate));
    const Bytes type{0x02, 0x10};  // object type 0
    EXPECT_FALSE(parse_config(type));
    const Bytes channels{0x12, 0x48};  // configuration 9
    EXPECT_FALSE(parse_config(channels));
    const Bytes sbr_cut{0x2B, 0x11};
    EXPECT_FALSE(parse_config(sbr_cut));
    const Bytes zero_rate{0x17, 0x80, 0x00, 0x00, 0x10};
    EXPECT_FALSE(parse_config(zero_rate));
}

TEST(AacTest, EveryPrefixIsReadOrRefused) {
    const Bytes config{0x13, 0x90, 0x56, 0xE5, 0xA0};
    for (size_t size = 0; size <= config.size(); size++) {
        const auto result = parse_config(ByteSpan(config).first(size));
        EXPECT_EQ(result.has_value(), size >= 2) << size;
    }
}

Bytes config_of(uint32_t rate_index, uint32_t channels) {
    return test::BitWriter().bits(5, 2).bits(4, rate_index).bits(4, channels).bits(3, 0).bytes();
}

TEST(AacTest, KnowsEveryRateAndRefusesTheReservedOnes) {
    // ISO/IEC 14496-3 table 1.18.
    const std::vector<uint32_t> rates = {96'000, 88'200, 64'000, 48'000, 44'100, 32'000, 24'000,
                                         22'050, 16'000, 12'000, 11'025, 8'000,  7'350};
    for (uint32_t index = 0; index < rates.size(); index++) {
        ASSERT_TRUE(parse_config(config_of(index, 2))) << index;
        EXPECT_EQ(parse_config(config_of(index, 2))->sample_rate, rates[index]) << index;
    }
    EXPECT_FALSE(parse_config(config_of(13, 2)));
    EXPECT_FALSE(parse_config(config_of(14, 2)));
}

TEST(AacTest, ConfigurationSevenIsEightChannels) {
    for (uint8_t channels = 0; channels < 7; channels++) {
        EXPECT_EQ(parse_config(config_of(3, channels))->channels, channels);
    }
    EXPECT_EQ(parse_config(config_of(3, 7))->channels, 8);
    EXPECT_FALSE(parse_config(config_of(3, 8)));
}

TEST(AacTest, ReadsTypesAbove31) {
    // USAC: 42 is the escape and 10.
    const Bytes usac =
        test::BitWriter().bits(5, 31).bits(6, 10).bits(4, 3).bits(4, 2).bits(5, 0).bytes();
    ASSERT_TRUE(parse_config(usac));
    EXPECT_EQ(parse_config(usac)->object_type, 42);
    EXPECT_EQ(parse_config(usac)->sample_rate, 48'000U);
    EXPECT_FALSE(parse_config(Bytes{0xF8}));
}

TEST(AacTest, FindsSbrBehindADelayOfTheCore) {
    const auto config = [](uint32_t type, uint32_t sbr_rate) {
        test::BitWriter w;
        w.bits(5, type).bits(4, 6).bits(4, 2).flag(false).flag(true).bits(14, 0x1234).flag(false);
        return parse_config(
            w.bits(11, 0x2B7).bits(5, 5).flag(true).bits(4, sbr_rate).bits(8, 0).bytes());
    };
    ASSERT_TRUE(config(2, 3));
    EXPECT_EQ(config(2, 3)->object_type, 5);
    EXPECT_EQ(config(2, 3)->sample_rate, 48'000U);
    // A rate that cannot be: the core is still what it said.
    ASSERT_TRUE(config(2, 13));
    EXPECT_EQ(config(2, 13)->object_type, 2);
    EXPECT_EQ(config(2, 13)->sample_rate, 24'000U);
    // Types without that configuration are not looked into.
    EXPECT_EQ(config(23, 3)->object_type, 23);
}

TEST(AacTest, FindsParametricStereoBehindSbr) {
    test::BitWriter w;
    w.bits(5, 2).bits(4, 6).bits(4, 1).bits(3, 0);
    w.bits(11, 0x2B7).bits(5, 5).flag(true).bits(4, 3).bits(11, 0x548).flag(true).bits(8, 0);
    const auto config = parse_config(w.bytes());
    ASSERT_TRUE(config);
    EXPECT_EQ(config->object_type, 29);
    EXPECT_EQ(config->channels, 2);
    EXPECT_EQ(config->sample_rate, 48'000U);
}

TEST(AacTest, RefusesAnSbrRateThatIsReservedOrCut) {
    const auto config = [](uint32_t index) {
        return parse_config(
            test::BitWriter().bits(5, 5).bits(4, 6).bits(4, 2).bits(4, index).bits(7, 0).bytes());
    };
    EXPECT_TRUE(config(3));
    EXPECT_FALSE(config(14));
    EXPECT_FALSE(config(15)) << "24 bits are to come";
}

TEST(AacTest, SaysHowLongAFrameIs) {
    EXPECT_EQ(parse_config(Bytes{0x12, 0x10})->frame_ticks(44'100), 1024U);
    EXPECT_EQ(parse_config(Bytes{0x12, 0x14})->frame_samples, 960U);
    // SBR: a frame is 1024 samples of the core, whose rate is half of what is played.
    EXPECT_EQ(parse_config(Bytes{0x2B, 0x11, 0x88, 0x00})->frame_ticks(48'000), 2048U);
    EXPECT_EQ(parse_config(Bytes{0x13, 0x90, 0x56, 0xE5, 0xA0})->frame_ticks(44'100), 2048U);
    // Low delay: type 23, 48,000 Hz, stereo, frames of 480.
    const Bytes low_delay =
        test::BitWriter().bits(5, 23).bits(4, 3).bits(4, 2).flag(true).bits(2, 0).bytes();
    EXPECT_EQ(parse_config(low_delay)->frame_samples, 480U);
}

TEST(AacTest, ReadsAConfigurationThatOtherBitsFollow) {
    const Bytes bytes = {0x12, 0x10, 0x16, 0xE5, 0xA0};
    BitReader bits(bytes);
    const auto config = read_config(bits);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->object_type, 2);
    EXPECT_FALSE(config->extended);
    EXPECT_EQ(bits.position(), 16U);
    const Bytes with_extension = {0x12, 0x10, 0x56, 0xE5, 0xA0};
    BitReader extended_bits(with_extension);
    const auto extended = read_config(extended_bits);
    ASSERT_TRUE(extended);
    EXPECT_TRUE(extended->extended);
    EXPECT_EQ(extended->object_type, 5);
    EXPECT_EQ(extended_bits.position(), 37U);
    const Bytes sbr = {0x2B, 0x11, 0x88, 0x00};
    BitReader sbr_bits(sbr);
    ASSERT_TRUE(read_config(sbr_bits));
    EXPECT_EQ(sbr_bits.position(), 25U);
    for (const Bytes& refused :
         {Bytes{0x12, 0x00}, Bytes{0x12}, Bytes{0xB9, 0x90, 0x00}, Bytes{}}) {
        BitReader reader(refused);
        EXPECT_FALSE(read_config(reader));
    }
}

}  // namespace
}  // namespace weir::media::aac
