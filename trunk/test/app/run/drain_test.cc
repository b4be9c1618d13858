#include "app/run/drain.h"

#include <gtest/gtest.h>

namespace weir::app {
namespace {

constexpr MonoTime kStart{Seconds(100)};
constexpr Remaining kTwo{.publishers = 1, .players = 1};

TEST(DrainTest, EndsWhenTheLastClientHasLeft) {
    Drain drain;
    EXPECT_FALSE(drain.begun());
    drain.begin(kStart, Seconds(60));
    EXPECT_TRUE(drain.begun());
    EXPECT_EQ(drain.step(kStart, kTwo), Drain::Step::kWait);
    EXPECT_EQ(drain.step(kStart, {.others = 1}), Drain::Step::kWait);
    EXPECT_EQ(drain.step(kStart, {}), Drain::Step::kDrained);
}

TEST(DrainTest, EndsAtItsDeadline) {
    Drain drain;
    drain.begin(kStart, Seconds(3));
    EXPECT_EQ(drain.left(kStart), Seconds(3));
    EXPECT_EQ(drain.step(kStart + Millis(2999), kTwo), Drain::Step::kWait);
    EXPECT_EQ(drain.step(kStart + Millis(3000), kTwo), Drain::Step::kExpired);
    EXPECT_EQ(drain.left(kStart + Seconds(9)), Seconds(0));
}

TEST(DrainTest, SaysWhoRemainsEveryFewSeconds) {
    Drain drain;
    drain.begin(kStart, Seconds(60));
    EXPECT_EQ(drain.step(kStart + Millis(4999), kTwo), Drain::Step::kWait);
    EXPECT_EQ(drain.step(kStart + Millis(5000), kTwo), Drain::Step::kReport);
    EXPECT_EQ(drain.step(kStart + Millis(5100), kTwo), Drain::Step::kWait);
    EXPECT_EQ(drain.step(kStart + Millis(10'000), kTwo), Drain::Step::kReport);
    EXPECT_EQ(to_string(kTwo), "publishers=1 players=1 others=0 remaining=2");
}

TEST(DrainTest, BegunAgainItHasANewDeadline) {
    Drain drain;
    drain.begin(kStart, Seconds(1));
    drain.begin(kStart + Millis(500), Seconds(60));
    EXPECT_EQ(drain.step(kStart + Seconds(2), kTwo), Drain::Step::kWait);
}

}  // namespace
}  // namespace weir::app
