#include "io/leak_check.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "io/fiber.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

#if WEIR_ASAN

TEST(LeakCheckTest, MemoryThatOnlyASuspendedCoroutineHoldsIsNoLeak) {
    Coroutine holder = go([] {
        // Volatile: on the coroutine's stack, and nowhere else.
        void* volatile block = std::malloc(1000);
        (void)sleep_until(soon()).code();
        std::free(block);
    });
    yield();
    auto found = check_leaks();
    ASSERT_TRUE(found.ok());
    EXPECT_FALSE(*found);
    holder.interrupt();
    holder.join();
}

TEST(LeakCheckTest, FindsALeakFromInsideACoroutine) {
    // In a process of its own: what is lost once is reported by every later check, too.
    auto leak = [] {
        go([] {
            for (int i = 0; i < 50; i++) {
                [[maybe_unused]] void* volatile block = std::malloc(333);
                block = nullptr;
            }
        }).join();
        bool found = false;
        go([&] { found = check_leaks().value(); }).join();
        std::_Exit(found ? 42 : 0);
    };
    EXPECT_EXIT(leak(), testing::ExitedWithCode(42), "detected memory leaks");
}

#else

TEST(LeakCheckTest, SaysWhichBuildCanDoIt) {
    auto found = check_leaks();
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code(), ErrorCode::kUnsupported);
    EXPECT_NE(found.error().message().find("--sanitizer=on"), std::string::npos);
}

#endif

}  // namespace
}  // namespace weir::io
