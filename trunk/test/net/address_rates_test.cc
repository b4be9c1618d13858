#include "net/address_rates.h"

#include <gtest/gtest.h>

namespace weir::net {
namespace {

constexpr BucketOptions kOptions{10, 3};

NetAddress host(uint32_t number) {
    return NetAddress::from_v4({10, static_cast<uint8_t>(number >> 16),
                                static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number)},
                               0);
}

TEST(AddressRatesTest, GivesTheBurstAndThenTheRate) {
    AddressRates rates;
    MonoTime now{Seconds(1000)};
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(rates.take(host(1), kOptions, now), Millis(0));
    }
    EXPECT_EQ(rates.take(host(1), kOptions, now), Millis(100));
    EXPECT_EQ(rates.take(host(2), kOptions, now), Millis(0)) << "another address";
    now += Millis(100);
    EXPECT_EQ(rates.wait_for(host(1), kOptions, now), Millis(0));
    EXPECT_EQ(rates.take(host(1), kOptions, now), Millis(0));
    EXPECT_GT(rates.wait_for(host(1), kOptions, now), Millis(0));
    EXPECT_GT(rates.take(host(1), kOptions, now), Millis(0));
    now += Seconds(3600);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(rates.take(host(1), kOptions, now), Millis(0)) << "no more than the burst";
    }
    EXPECT_GT(rates.take(host(1), kOptions, now), Millis(0));
}

TEST(AddressRatesTest, WaitForTakesNothing) {
    AddressRates rates;
    for (int i = 0; i < 10; i++) {
        EXPECT_EQ(rates.wait_for(host(1), kOptions, MonoTime{}), Millis(0));
    }
    EXPECT_EQ(rates.size(), 0U);
}

TEST(AddressRatesTest, StaysBoundedAndForgetsWhoWasSeenLongestAgo) {
    AddressRates rates;
    const MonoTime now{Seconds(1000)};
    for (int i = 0; i < 3; i++) {
        (void)rates.take(host(0), kOptions, now);
        (void)rates.take(host(1), kOptions, now);
    }
    for (uint32_t i = 2; i < AddressRates::kMaxAddresses; i++) {
        (void)rates.take(host(i), kOptions, now);
    }
    EXPECT_GT(rates.take(host(0), kOptions, now), Millis(0));  // seen again: not the oldest now
    for (uint32_t i = 0; i < 100; i++) {
        (void)rates.take(host(100'000 + i), kOptions, now);
    }
    EXPECT_EQ(rates.size(), AddressRates::kMaxAddresses);
    EXPECT_GT(rates.wait_for(host(0), kOptions, now), Millis(0));
    EXPECT_EQ(rates.wait_for(host(1), kOptions, now), Millis(0)) << "forgotten";
}

}  // namespace
}  // namespace weir::net
