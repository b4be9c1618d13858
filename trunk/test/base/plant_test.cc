#include "base/plant.h"

#include <gtest/gtest.h>

namespace weir::plant {
namespace {

#if WEIR_PLANTS

TEST(PlantTest, IsActiveOnlyByItsWholeName) {
    EXPECT_TRUE(listed("leak", "leak"));
    EXPECT_TRUE(listed("a,leak,b", "leak"));
    EXPECT_TRUE(listed("a,leak", "leak"));
    EXPECT_FALSE(listed("leaks,aleak", "leak"));
    EXPECT_FALSE(listed("", "leak"));
    EXPECT_FALSE(listed(",", "leak"));
}

#endif

TEST(PlantTest, IsNothingUnlessTheEnvironmentNamesIt) {
    bool ran = false;
    WEIR_PLANT("never-named-by-anybody", ran = true);
    EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace weir::plant
