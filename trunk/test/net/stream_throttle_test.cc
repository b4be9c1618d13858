#include "net/stream_throttle.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::net {
namespace {

stream::StreamKey key(int number) {
    return {"", "live", std::to_string(number)};
}

TEST(StreamThrottleTest, AStreamHasOneLineAMinute) {
    StreamThrottle throttle;
    MonoTime now{Seconds(100)};
    EXPECT_TRUE(throttle.allow(key(1), now));
    EXPECT_EQ(throttle.rest(), "");
    for (int i = 0; i < 59; i++) {
        now += Seconds(1);
        EXPECT_FALSE(throttle.allow(key(1), now)) << i;
    }
    now += Seconds(1);
    EXPECT_TRUE(throttle.allow(key(1), now));
    EXPECT_EQ(throttle.rest(), " (59 more were not logged)");
}

TEST(StreamThrottleTest, AllStreamsHaveOneLineASecond) {
    StreamThrottle throttle;
    MonoTime now{Seconds(100)};
    EXPECT_TRUE(throttle.allow(key(1), now));
    EXPECT_FALSE(throttle.allow(key(2), now));
    now += Seconds(1);
    EXPECT_TRUE(throttle.allow(key(2), now)) << "it has had no line";
    EXPECT_EQ(throttle.rest(), " (1 more were not logged)");
}

TEST(StreamThrottleTest, ManyNamesAreNotRememberedForEver) {
    StreamThrottle throttle;
    MonoTime now{Seconds(100)};
    size_t lines = 0;
    for (int i = 0; i < 10'000; i++) {
        now += Seconds(1);
        lines += throttle.allow(key(i), now) ? 1U : 0U;
    }
    EXPECT_EQ(lines, 10'000U);
    EXPECT_FALSE(throttle.allow(key(9'999), now + Seconds(1)));
}

}  // namespace
}  // namespace weir::net
