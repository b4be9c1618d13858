#include "media/mp3.h"

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"

namespace weir::media::mp3 {
namespace {

using test::from_hex;

TEST(Mp3Test, ReadsHeadersOfAllThreeVersions) {
    // ISO/IEC 11172-3 §2.4.2.3: 128 kbit/s at 44,100 Hz, joint stereo, without CRC.
    const auto mpeg1 = parse_header(from_hex("fffb9064"));
    ASSERT_TRUE(mpeg1);
    EXPECT_EQ(mpeg1->sample_rate, 44'100U);
    EXPECT_EQ(mpeg1->bitrate_bps, 128'000U);
    EXPECT_EQ(mpeg1->samples, 1152);
    EXPECT_EQ(mpeg1->size, 417U);
    EXPECT_EQ(mpeg1->channels, 2);
    EXPECT_FALSE(mpeg1->has_crc);
    EXPECT_EQ(mpeg1->side_info_size(), 32U);
    EXPECT_EQ(parse_header(from_hex("fffb9264"))->size, 418U);  // padding

    const auto mpeg2 = parse_header(from_hex("fff284c4"));  // 64 kbit/s, 24,000 Hz, mono, CRC
    ASSERT_TRUE(mpeg2);
    EXPECT_EQ(mpeg2->sample_rate, 24'000U);
    EXPECT_EQ(mpeg2->samples, 576);
    EXPECT_EQ(mpeg2->size, 192U);
    EXPECT_EQ(mpeg2->channels, 1);
    EXPECT_TRUE(mpeg2->has_crc);
    EXPECT_EQ(mpeg2->side_info_size(), 9U);

    const auto mpeg25 = parse_header(from_hex("ffe318c4"));  // 8 kbit/s, 8,000 Hz
    ASSERT_TRUE(mpeg25);
    EXPECT_EQ(mpeg25->sample_rate, 8'000U);
    EXPECT_EQ(mpeg25->size, 72U);
}

TEST(Mp3Test, RefusesWhatIsNoHeaderOfLayerThree) {
    for (const char* hex : {"", "fffb90", "fefb9064", "ff1b9064", "fffd9064", "fff99064",
                            "fffb0064", "fffbf064", "fffb9c64", "ffeb9064", "49443304"}) {
        EXPECT_FALSE(parse_header(from_hex(hex))) << hex;
    }
}

TEST(Mp3Test, OtherLayersAreReadWhenTheyAreAskedFor) {
    // ISO/IEC 11172-3 §2.4.2.3: layer II, 192 kbit/s at 48,000 Hz; layer I, 384 kbit/s at 44,100 Hz
    // with padding, of which a slot has four bytes.
    const Bytes second = from_hex("fffda400");
    EXPECT_FALSE(parse_header(second));
    const auto two = parse_any_layer(second);
    ASSERT_TRUE(two);
    EXPECT_EQ(two->layer, 2);
    EXPECT_EQ(two->size, 576U);
    EXPECT_EQ(two->samples, 1152);
    const auto one = parse_any_layer(from_hex("ffffc200"));
    ASSERT_TRUE(one);
    EXPECT_EQ(one->layer, 1);
    EXPECT_EQ(one->bitrate_bps, 384'000U);
    EXPECT_EQ(one->samples, 384);
    EXPECT_EQ(one->size, 420U);
    EXPECT_EQ(parse_any_layer(from_hex("fff58800"))->samples, 1152);  // MPEG 2
    EXPECT_EQ(parse_any_layer(from_hex("fffb9064"))->layer, 3);
    EXPECT_FALSE(parse_any_layer(from_hex("fff9a400")));  // reserved
}

}  // namespace
}  // namespace weir::media::mp3
