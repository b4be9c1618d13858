#include "session/sip/sip_digits.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::session {
namespace {

TEST(SipDigitsTest, OneGoesAfterTheOther) {
    SipDigits digits;
    for (const char each : std::string("19#")) {
        ASSERT_TRUE(digits.send({each, Millis(100)}));
    }
    std::string gone;
    MonoTime now{Seconds(5)};
    for (int ms = 0; ms < 600; ms += 20, now += Millis(20)) {
        if (const auto digit = digits.poll(now)) {
            EXPECT_EQ(ms, static_cast<int>(gone.size()) * 200);
            gone += digit->digit;
        }
    }
    EXPECT_EQ(gone, "19#");
}

TEST(SipDigitsTest, TheLineIsBounded) {
    SipDigits digits;
    for (size_t i = 0; i < SipDigits::kMaxInLine; i++) {
        EXPECT_TRUE(digits.send({'1', Millis(100)}));
    }
    EXPECT_EQ(digits.room(), 0U);
    EXPECT_FALSE(digits.send({'1', Millis(100)}));
}

TEST(SipDigitsTest, AFloodOfDigitsIsCut) {
    SipDigits digits;
    size_t taken = 0;
    for (MonoTime now{Seconds(5)}; now < MonoTime(Seconds(15)); now += Millis(1)) {
        taken += digits.take(now) ? 1U : 0U;
    }
    EXPECT_GE(taken, 200U);
    EXPECT_LE(taken, 10 * SipDigits::kMaxPerSecond + SipDigits::kMaxAtOnce);
}

}  // namespace
}  // namespace weir::session
