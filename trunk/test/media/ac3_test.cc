#include "media/ac3.h"

#include <gtest/gtest.h>

#include "test/support/codec_samples.h"

namespace weir::media::ac3 {
namespace {

using test::from_hex;

TEST(Ac3Test, ReadsHeadersOfAllRates) {
    // ffmpeg 5.1: 192 kbit/s (code 20) at 48,000, 44,100 and 32,000 Hz; TS 102 366 table 4.13.
    const auto first = parse_header(from_hex("0b77 0000 14 40"));
    ASSERT_TRUE(first);
    EXPECT_FALSE(first->enhanced || first->dependent);
    EXPECT_EQ(first->sample_rate, 48'000U);
    EXPECT_EQ(first->size, 768U);
    EXPECT_EQ(first->samples, 1536);
    EXPECT_EQ(parse_header(from_hex("0b77 0000 54 40"))->size, 834U);
    EXPECT_EQ(parse_header(from_hex("0b77 0000 55 40"))->size, 836U);
    EXPECT_EQ(parse_header(from_hex("0b77 0000 94 40"))->size, 1152U);
    EXPECT_EQ(parse_header(from_hex("0b77 0000 25 40"))->size, 2560U);  // 640 kbit/s
    EXPECT_EQ(parse_header(from_hex("0b77 0000 14 48"))->sample_rate, 24'000U);
}

TEST(Ac3Test, ReadsEnhancedHeaders) {
    const auto main = parse_header(from_hex("0b77 01ff 34 86"));
    ASSERT_TRUE(main);
    EXPECT_TRUE(main->enhanced);
    EXPECT_FALSE(main->dependent);
    EXPECT_EQ(main->size, 1024U);
    EXPECT_EQ(main->sample_rate, 48'000U);
    EXPECT_EQ(main->samples, 1536);
    EXPECT_EQ(parse_header(from_hex("0b77 01ff 04 86"))->samples, 256);
    EXPECT_EQ(parse_header(from_hex("0b77 01ff d4 86"))->sample_rate, 22'050U);
    EXPECT_EQ(parse_header(from_hex("0b77 01ff d4 86"))->samples, 1536);
    EXPECT_TRUE(parse_header(from_hex("0b77 41ff 34 86"))->dependent);
    EXPECT_TRUE(parse_header(from_hex("0b77 09ff 34 86"))->dependent);  // a second programme
}

TEST(Ac3Test, RefusesWhatIsNoHeader) {
    for (size_t size = 0; size < kHeaderSize; size++) {
        EXPECT_FALSE(parse_header(ByteSpan(from_hex("0b7700001440")).first(size)));
    }
    EXPECT_FALSE(parse_header(from_hex("770b 0000 14 40")));
    EXPECT_FALSE(parse_header(from_hex("0b77 0000 d4 40")));  // rate 3
    EXPECT_FALSE(parse_header(from_hex("0b77 0000 26 40")));  // code 38
    EXPECT_FALSE(parse_header(from_hex("0b77 0000 14 88")));  // bsid 17
    EXPECT_FALSE(parse_header(from_hex("0b77 c1ff 34 86")));  // reserved type
    EXPECT_FALSE(parse_header(from_hex("0b77 01ff f4 86")));  // rate 3 and half rate 3
    EXPECT_FALSE(parse_header(from_hex("0b77 0001 34 86")));  // shorter than its header
}

}  // namespace
}  // namespace weir::media::ac3
