#include "proto/rtp/unwrapper.h"

#include <gtest/gtest.h>

namespace weir::rtp {
namespace {

TEST(RtpUnwrapperTest, CountsOnOverAWrap) {
    SequenceUnwrapper unwrapper;
    EXPECT_EQ(unwrapper.unwrap(0xFFFE), 0xFFFE);
    EXPECT_EQ(unwrapper.unwrap(0xFFFF), 0xFFFF);
    EXPECT_EQ(unwrapper.unwrap(0), 0x10000);
    EXPECT_EQ(unwrapper.unwrap(1), 0x10001);
    EXPECT_EQ(*unwrapper.highest(), 0x10001);
}

TEST(RtpUnwrapperTest, PlacesALatePacketBeforeTheWrap) {
    SequenceUnwrapper unwrapper;
    EXPECT_EQ(unwrapper.unwrap(0xFFFF), 0xFFFF);
    EXPECT_EQ(unwrapper.unwrap(3), 0x10003);
    EXPECT_EQ(unwrapper.unwrap(0xFFFD), 0xFFFD);
    EXPECT_EQ(*unwrapper.highest(), 0x10003);
    EXPECT_EQ(unwrapper.unwrap(4), 0x10004);
}

TEST(RtpUnwrapperTest, GoesBelowZeroBeforeTheFirstValue) {
    SequenceUnwrapper unwrapper;
    EXPECT_EQ(unwrapper.unwrap(1), 1);
    EXPECT_EQ(unwrapper.unwrap(0xFFFF), -1);
}

TEST(RtpUnwrapperTest, CountsManyTurnsInLargeSteps) {
    SequenceUnwrapper unwrapper;
    int64_t expected = 0;
    for (int i = 0; i < 1000; i++) {
        EXPECT_EQ(unwrapper.unwrap(static_cast<uint16_t>(expected)), expected);
        expected += 0x7FFF;
    }
}

TEST(RtpUnwrapperTest, TakesHalfOfTheRangeForAStepBack) {
    SequenceUnwrapper unwrapper;
    EXPECT_EQ(unwrapper.unwrap(0x8000), 0x8000);
    EXPECT_EQ(unwrapper.peek(0xFFFF), 0xFFFF);
    EXPECT_EQ(unwrapper.peek(0), 0);
}

TEST(RtpUnwrapperTest, PeeksWithoutRemembering) {
    TimeUnwrapper unwrapper;
    EXPECT_EQ(unwrapper.peek(5), 5);
    EXPECT_FALSE(unwrapper.highest());
    EXPECT_EQ(unwrapper.unwrap(0xFFFFFFFF), 0xFFFFFFFF);
    EXPECT_EQ(unwrapper.peek(9), 0x1'0000'0009);
    EXPECT_EQ(*unwrapper.highest(), 0xFFFFFFFF);
    unwrapper.reset();
    EXPECT_EQ(unwrapper.unwrap(9), 9);
}

TEST(RtpUnwrapperTest, OrdersWrappingNumbers) {
    EXPECT_TRUE(is_newer(1, 0));
    EXPECT_TRUE(is_newer(0, 0xFFFF));
    EXPECT_TRUE(is_newer(0x7FFF, 0));
    EXPECT_FALSE(is_newer(0, 0));
    EXPECT_FALSE(is_newer(0xFFFF, 0));
    EXPECT_FALSE(is_newer(0x8000, 0));
}

}  // namespace
}  // namespace weir::rtp
