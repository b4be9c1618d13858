#include "proto/srtp/replay_window.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

namespace weir::srtp {
namespace {

TEST(ReplayWindowTest, TakesEachIndexOnce) {
    ReplayWindow window;
    for (uint32_t index : {5u, 7u, 6u, 200u, 150u, 73u}) {
        EXPECT_TRUE(window.check(index)) << index;
        window.add(index);
        EXPECT_FALSE(window.check(index)) << index;
    }
}

TEST(ReplayWindowTest, RefusesWhatIsOlderThanTheWindow) {
    ReplayWindow window;
    window.add(1000);
    EXPECT_TRUE(window.check(1000 - ReplayWindow::kSize + 1));
    EXPECT_FALSE(window.check(1000 - ReplayWindow::kSize));
}

TEST(ReplayWindowTest, TakesIndexZeroFirst) {
    ReplayWindow window;
    EXPECT_TRUE(window.check(0));
    window.add(0);
    EXPECT_FALSE(window.check(0));
    EXPECT_TRUE(window.check(1));
}

TEST(ReplayWindowTest, AgreesWithASetOverJumpsOfAllSizes) {
    for (uint32_t most : {3u, 63u, 64u, 65u, 127u, 128u, 129u, 1000u}) {
        ReplayWindow window;
        std::set<uint32_t> seen;
        uint32_t random = most, newest = 0;
        for (int i = 0; i < 2000; i++) {
            random = random * 1664525 + 1013904223;
            const uint32_t back = (random >> 24) % 140;
            const uint32_t index = (random & 0x100) != 0 ? newest + 1 + (random >> 12) % most
                                                         : newest - std::min(newest, back);
            const bool expected =
                seen.count(index) == 0 && (index > newest || newest - index < ReplayWindow::kSize);
            ASSERT_EQ(window.check(index), expected) << index << " after " << newest;
            if (expected) {
                window.add(index);
                seen.insert(index);
                newest = std::max(newest, index);
            }
        }
    }
}

}  // namespace
}  // namespace weir::srtp
