#include "net/segments/far_off.h"

#include <gtest/gtest.h>

namespace weir::net {
namespace {

TEST(FarOffTest, OneLateArrivalMovesNothing) {
    FarOff far(250);
    EXPECT_FALSE(far.check(900));
    EXPECT_FALSE(far.check(-250));
    EXPECT_FALSE(far.check(251));
    EXPECT_FALSE(far.check(0));
}

TEST(FarOffTest, TwoInARowOfEitherSignDo) {
    FarOff far(250);
    EXPECT_FALSE(far.check(251));
    EXPECT_TRUE(far.check(-900));
    EXPECT_FALSE(far.check(-900)) << "what was corrected is counted anew";
    EXPECT_TRUE(far.check(-900));
}

TEST(FarOffTest, ANewMappingIsCountedAnew) {
    FarOff far(250);
    EXPECT_FALSE(far.check(251));
    far.restart();
    EXPECT_FALSE(far.check(251));
}

}  // namespace
}  // namespace weir::net
