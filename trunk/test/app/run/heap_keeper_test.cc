#include "app/run/heap_keeper.h"

#include <gtest/gtest.h>

namespace weir::app {
namespace {

constexpr size_t kMiB = 1u << 20;

TEST(HeapKeeperTest, LeavesLittleAlone) {
    HeapKeeper keeper;
    EXPECT_FALSE(keeper.should_trim(0));
    EXPECT_FALSE(keeper.should_trim(HeapKeeper::kWorthwhile - 1));
}

TEST(HeapKeeperTest, ActsOnceWhenMuchWasFreed) {
    HeapKeeper keeper;
    EXPECT_FALSE(keeper.should_trim(kMiB));
    EXPECT_TRUE(keeper.should_trim(30 * kMiB));
    EXPECT_FALSE(keeper.should_trim(30 * kMiB)) << "what was given back still counts as free";
    EXPECT_FALSE(keeper.should_trim(30 * kMiB + HeapKeeper::kGrowth - 1));
}

TEST(HeapKeeperTest, ActsAgainAfterTheFreeMemoryWasUsedAndFreed) {
    HeapKeeper keeper;
    EXPECT_TRUE(keeper.should_trim(30 * kMiB));
    EXPECT_FALSE(keeper.should_trim(2 * kMiB));
    EXPECT_TRUE(keeper.should_trim(30 * kMiB));
}

}  // namespace
}  // namespace weir::app
