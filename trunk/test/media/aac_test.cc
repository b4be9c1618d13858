#include "media/aac.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weir::media::aac
