#include "net/rate_guard.h"

#include <optional>

#include <gtest/gtest.h>

namespace weir::net {
namespace {

// Sends `bytes` every 100 ms for so long; gives when it was too much, in ms.
std::optional<int64_t> send(RateGuard& guard, MonoTime& now, size_t bytes, Millis how_long) {
    for (Millis passed{0}; passed < how_long; passed += Millis(100)) {
        if (!guard.take(now, bytes)) {
            return passed.count();
        }
        now += Millis(100);
    }
    return std::nullopt;
}

TEST(RateGuardTest, LetsARateUnderTheLimitPassForEver) {
    RateGuard guard(1'000'000);
    MonoTime now{Seconds(1000)};
    EXPECT_FALSE(send(guard, now, 12'000, Seconds(600)));  // 960 kbit/s
}

TEST(RateGuardTest, NoticesTwiceTheRateInTheWindow) {
    RateGuard guard(1'000'000);
    MonoTime now{Seconds(1000)};
    const auto when = send(guard, now, 25'000, Seconds(60));  // 2 Mbit/s
    ASSERT_TRUE(when);
    EXPECT_GE(*when, 4500);
    EXPECT_LE(*when, 5500);
}

TEST(RateGuardTest, LetsABurstPassThatTheWindowCarries) {
    RateGuard guard(1'000'000);
    MonoTime now{Seconds(1000)};
    EXPECT_FALSE(send(guard, now, 5'000, Seconds(20)));  // 400 kbit/s
    EXPECT_TRUE(guard.take(now, 600'000));               // what waited for some seconds
    EXPECT_FALSE(send(guard, now, 5'000, Seconds(60)));
    EXPECT_FALSE(guard.take(now, 2'000'000));
}

TEST(RateGuardTest, ForgetsWhatIsOlderThanTheWindow) {
    RateGuard guard(1'000'000);
    MonoTime now{Seconds(1000)};
    EXPECT_TRUE(guard.take(now, 1'200'000));
    now += RateGuard::kWindow + Seconds(1);
    EXPECT_TRUE(guard.take(now, 1'200'000));
    now += Seconds(100'000);
    EXPECT_TRUE(guard.take(now, 1'200'000));
    EXPECT_FALSE(guard.take(now - Seconds(5), 1'200'000));  // a clock that steps back
}

TEST(RateGuardTest, TakesEverythingWithoutALimit) {
    RateGuard guard;
    EXPECT_TRUE(guard.take(MonoTime{}, SIZE_MAX));
}

}  // namespace
}  // namespace weir::net
