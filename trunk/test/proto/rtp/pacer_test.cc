#include "proto/rtp/pacer.h"

#include <gtest/gtest.h>

#include "test/proto/rtp/packets.h"

namespace weir::rtp {
namespace {

using test::kStart;

TEST(PacerTest, ABatchIsWaitedFor) {
    Pacer pacer(8'000'000);  // a byte a microsecond
    ASSERT_TRUE(pacer.may_send(kStart));
    pacer.on_sent(kStart, 20'000);
    EXPECT_FALSE(pacer.may_send(kStart));
    // 20 ms, less the 5 ms that were saved up.
    EXPECT_EQ(pacer.next_send(), kStart + Millis(15));
    EXPECT_FALSE(pacer.may_send(kStart + Millis(15) - Micros(1)));
    EXPECT_TRUE(pacer.may_send(kStart + Millis(15)));
}

TEST(PacerTest, KeepsTheRateOverTime) {
    Pacer pacer(1'000'000);
    int64_t sent = 0;
    for (int ms = 0; ms < 10'000; ms++) {
        const MonoTime now = kStart + Millis(ms);
        while (pacer.may_send(now)) {
            pacer.on_sent(now, 1'200);
            sent += 1'200;
        }
    }
    EXPECT_NEAR(static_cast<double>(sent), 1'250'000, 3'000);
}

TEST(PacerTest, SavesNoMoreThanAMoment) {
    Pacer pacer(8'000'000);
    pacer.on_sent(kStart, 100);
    const MonoTime later = kStart + Seconds(60);
    EXPECT_EQ(pacer.budget(later, later), 5'000u);
    EXPECT_EQ(pacer.budget(later, later + Millis(10)), 15'000u);
    pacer.on_sent(later, 5'000);
    EXPECT_EQ(pacer.budget(later, later), 0u);
    EXPECT_TRUE(pacer.may_send(later));
}

TEST(PacerTest, ARateOfNothingIsStillARate) {
    Pacer pacer(0);
    EXPECT_EQ(pacer.rate(), Pacer::kMinBps);
    pacer.on_sent(kStart, 1'250);
    EXPECT_EQ(pacer.next_send(), kStart + Seconds(1) - Pacer::kMaxSaved);
    pacer.set_rate(8'000'000);
    pacer.on_sent(kStart + Seconds(1), 1'000);
    EXPECT_LE(pacer.next_send(), kStart + Seconds(1));
}

}  // namespace
}  // namespace weir::rtp
