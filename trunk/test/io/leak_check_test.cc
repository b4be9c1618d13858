#include "io/leak_check.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

#include "base/build.h"

#include "test/support/io/loopback.h"

#if WEIR_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

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

// Calls itself, so that the pointer lies deep in the stack, and leaves it there.
__attribute__((noinline)) size_t lose_deep(int depth) {
    std::array<volatile uintptr_t, 64> frame;
    frame[0] = reinterpret_cast<uintptr_t>(depth == 0 ? std::malloc(777) : nullptr);
    return (depth == 0 ? 0 : lose_deep(depth - 1)) + (frame[0] == 1 ? 1 : 0);
}

TEST(LeakCheckTest, APointerInADeadPartOfAStackHidesNothing) {
    auto leak = [] {
        Coroutine holder = go([] {
            (void)lose_deep(8);
            (void)sleep_until(soon()).code();
        });
        yield();
        bool found = false;
        go([&] { found = check_leaks().value(); }).join();
        std::_Exit(found ? 42 : 0);
    };
    // As the server does: the tests' own setting puts variables elsewhere, dead ones too. The death
    // test begins with a new start of this program, which reads the environment.
    const char* before = std::getenv("ASAN_OPTIONS");
    const std::string kept = before != nullptr ? before : "";
    setenv("ASAN_OPTIONS", (kept + ":detect_stack_use_after_return=0").c_str(), 1);
    EXPECT_EXIT(leak(), testing::ExitedWithCode(42), "777 byte");
    setenv("ASAN_OPTIONS", kept.c_str(), 1);
}

TEST(LeakCheckTest, GivesTheReportAndWhatIsOnTheHeap) {
    auto leak = [] {
        go([] {
            for (int i = 0; i < 50; i++) {
                [[maybe_unused]] void* volatile block = std::malloc(333);
                block = nullptr;
            }
        }).join();
        Result<SanitizerLeaks> leaks = SanitizerLeaks();
        go([&] { leaks = sanitizer_leaks(100'000); }).join();
        const bool good = leaks.ok() &&
                          leaks->text.find(" byte(s) leaked in") != std::string::npos &&
                          leaks->text.find("leak_check_test.cc") != std::string::npos &&
                          leaks->heap_bytes > size_t{49} * 333;
        // And the next report goes where reports usually go.
        go([] { (void)check_leaks().value(); }).join();
        std::_Exit(good ? 42 : 0);
    };
    EXPECT_EXIT(leak(), testing::ExitedWithCode(42), "detected memory leaks");
}

TEST(LeakCheckTest, OfALongReportTheSumIsKept) {
    auto leak = [] {
        go([] {
            [[maybe_unused]] void* volatile block = std::malloc(333);
            block = std::malloc(333);
            block = nullptr;
        }).join();
        Result<SanitizerLeaks> leaks = SanitizerLeaks();
        go([&] { leaks = sanitizer_leaks(600); }).join();
        const bool good = leaks.ok() && leaks->found && leaks->text.size() <= 600 &&
                          leaks->text.find("\nSUMMARY: ") != std::string::npos &&
                          leaks->text.find("    #") == std::string::npos;
        std::_Exit(good ? 42 : 0);
    };
    EXPECT_EXIT(leak(), testing::ExitedWithCode(42), "");
}

TEST(LeakCheckTest, AfterACheckReportsGoOnIntoTheFileWithARelativeName) {
    auto leak = [] {
        std::string folder = testing::TempDir() + "weir-leak-check-XXXXXX";
        if (mkdtemp(folder.data()) == nullptr || chdir(folder.c_str()) != 0) {
            std::_Exit(1);
        }
        __sanitizer_set_report_path("report");
        go([] {
            [[maybe_unused]] void* volatile block = std::malloc(333);
            block = std::malloc(333);
            block = nullptr;
        }).join();
        go([] { (void)sanitizer_leaks(100'000).ok(); }).join();
        go([] { (void)check_leaks().value(); }).join();
        std::ifstream file("report." + std::to_string(getpid()));
        const std::string text(std::istreambuf_iterator<char>(file), {});
        std::filesystem::remove_all(folder);
        std::_Exit(text.find("detected memory leaks") != std::string::npos ? 42 : 0);
    };
    EXPECT_EXIT(leak(), testing::ExitedWithCode(42), "");
}

TEST(LeakCheckTest, ACleanReportIsEmptyAndKeepsToItself) {
    const Result<SanitizerLeaks> leaks = sanitizer_leaks(100'000);
    ASSERT_TRUE(leaks.ok()) << leaks.error().message();
    EXPECT_EQ(leaks->text, "");
    EXPECT_GT(leaks->heap_bytes, 1000U);
}

__attribute__((noinline)) void* kept_here() {
    return std::malloc(54'321);
}

TEST(LeakCheckTest, TellsWhatIsOnTheHeapByStackAlthoughNothingIsLost) {
    void* kept = kept_here();
    const Result<SanitizerLeaks> leaks = sanitizer_leaks(4'000'000);
    std::free(kept);
    ASSERT_TRUE(leaks.ok()) << leaks.error().message();
    const size_t at = leaks->heap.find("54321 byte(s) (");
    ASSERT_NE(at, std::string::npos) << leaks->heap.substr(0, 4000);
    const std::string record = leaks->heap.substr(at, leaks->heap.find("\n\n", at) - at);
    EXPECT_NE(record.find("kept_here"), std::string::npos) << record;
    EXPECT_NE(record.find("leak_check_test.cc"), std::string::npos) << record;
}

TEST(LeakCheckTest, AnOptionThatTurnsItOffIsSaidAndNotTakenForClean) {
    const char* before = std::getenv("LSAN_OPTIONS");
    const std::string kept = before != nullptr ? before : "";
    setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
    const Result<SanitizerLeaks> leaks = sanitizer_leaks(1000);
    setenv("LSAN_OPTIONS", kept.c_str(), 1);
    ASSERT_FALSE(leaks.ok());
    EXPECT_EQ(leaks.error().code(), ErrorCode::kUnsupported);
    EXPECT_NE(leaks.error().message().find("detect_leaks=0"), std::string_view::npos);
}

#else

TEST(LeakCheckTest, SaysWhichBuildCanGiveAReport) {
    const Result<SanitizerLeaks> leaks = sanitizer_leaks(1000);
    ASSERT_FALSE(leaks.ok());
    EXPECT_EQ(leaks.error().code(), ErrorCode::kUnsupported);
}

TEST(LeakCheckTest, SaysWhichBuildCanDoIt) {
    auto found = check_leaks();
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code(), ErrorCode::kUnsupported);
    EXPECT_NE(found.error().message().find("--sanitizer=on"), std::string::npos);
}

#endif

}  // namespace
}  // namespace weir::io
