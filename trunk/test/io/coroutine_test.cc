#include "io/coroutine.h"

#include <gtest/gtest.h>

namespace weir::io {
namespace {

TEST(CoroutineTest, RunsItsBodyAtTheNextYieldOfTheCaller) {
    bool ran = false;
    auto coroutine = Coroutine::spawn("body", StackSize::kNormal, [&] { ran = true; });
    ASSERT_TRUE(coroutine.ok());
    EXPECT_FALSE(ran);
    EXPECT_TRUE(coroutine->running());
    yield();
    EXPECT_TRUE(ran);
    EXPECT_FALSE(coroutine->running());
    coroutine->join();
}

}  // namespace
}  // namespace weir::io
