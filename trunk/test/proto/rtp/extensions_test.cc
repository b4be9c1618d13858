#include "proto/rtp/extensions.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace weir::rtp {
namespace {

TEST(RtpExtensionsTest, WritesTimesInSecondsOf6Point18Bits) {
    EXPECT_EQ(absolute_send_time(0), 0U);
    EXPECT_EQ(absolute_send_time(1'000'000), 1U << 18U);
    EXPECT_EQ(absolute_send_time(500'000), 1U << 17U);
    EXPECT_EQ(absolute_send_time(63'999'999), 0xFFFFFFU);
}

TEST(RtpExtensionsTest, WrapsTimesAfter64SecondsHoweverLargeTheyAre) {
    EXPECT_EQ(absolute_send_time(64'000'000), 0U);
    const int64_t unix_us = 1'800'000'000'000'123;
    EXPECT_LE(std::llabs(absolute_send_time_us(absolute_send_time(unix_us)) - unix_us % 64'000'000),
              4);
}

TEST(RtpExtensionsTest, ReadsTheAudioLevel) {
    EXPECT_EQ(parse_audio_level(0x80 | 30).minus_dbov, 30);
    EXPECT_TRUE(parse_audio_level(0x80 | 30).voice);
    EXPECT_FALSE(parse_audio_level(127).voice);
}

}  // namespace
}  // namespace weir::rtp
