#include "io/stacks.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "io/coroutine.h"
#include "io/signal.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

const StackRange* range_of(const std::vector<StackRange>& ranges, const void* address) {
    const auto* at = static_cast<const char*>(address);
    const auto found = std::ranges::find_if(ranges, [at](const StackRange& range) {
        return at >= range.begin && at < range.begin + range.size;
    });
    return found == ranges.end() ? nullptr : &*found;
}

// The nearest guard page below an address of a coroutine's stack.
const Stack* guard_below(const char* address) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t most = size_t{300} * 1024;
    for (size_t down = 0; down < most; down += page) {
        if (const Stack* stack = stack_guarded_at(address - down)) {
            return stack;
        }
    }
    return nullptr;
}

// The frame's own address, also where a sanitizer keeps locals elsewhere.
const char* here() {
    return static_cast<const char*>(__builtin_frame_address(0));
}

TEST(StacksTest, TheGuardPageBelowAStackNamesItsCoroutine) {
    for (const StackSize size : {StackSize::kNormal, StackSize::kLarge}) {
        bool looked = false;
        auto coroutine = Coroutine::spawn("guarded", size, [&looked, size] {
            const char* frame = here();
            EXPECT_EQ(stack_guarded_at(frame), nullptr) << "no guard page, but the stack itself";
            const Stack* stack = guard_below(frame);
            ASSERT_NE(stack, nullptr);
            EXPECT_EQ(std::string(stack->owner), "guarded");
            EXPECT_TRUE(stack->in_use);
            EXPECT_LT(stack->bottom, frame);
            EXPECT_GT(stack->bottom + stack->size, frame);
            EXPECT_GE(stack->size, size_t{size == StackSize::kNormal ? 64U : 256U} * 1024);
            looked = true;
        });
        ASSERT_TRUE(coroutine.ok());
        coroutine->join();
        EXPECT_TRUE(looked);
    }
}

TEST(StacksTest, AGuardPageEndsWhereTheStackBegins) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    Coroutine coroutine = go([page] {
        const Stack* stack = guard_below(here());
        ASSERT_NE(stack, nullptr);
        const char* bottom = stack->bottom;
        EXPECT_EQ(stack_guarded_at(bottom), nullptr);
        EXPECT_EQ(stack_guarded_at(bottom - 1), stack);
        EXPECT_EQ(stack_guarded_at(bottom - page), stack);
        EXPECT_NE(stack_guarded_at(bottom - page - 1), stack);
        const char* top = bottom + stack->size;
        EXPECT_EQ(stack_guarded_at(top - 1), nullptr);
        EXPECT_NE(stack_guarded_at(top), nullptr) << "its own, or that of the stack above";
    });
    coroutine.join();
}

TEST(StacksTest, AddressesOfOtherMemoryAreNoGuardPages) {
    static int global = 0;
    const auto owned = std::make_unique<int>(0);
    int local = 0;
    for (const void* address : std::initializer_list<const void*>{
             nullptr, &global, owned.get(), &local, reinterpret_cast<void*>(UINTPTR_MAX)}) {
        EXPECT_EQ(stack_guarded_at(address), nullptr) << address;
    }
}

TEST(StacksTest, TheRangesHoldEveryStackAndLieApart) {
    std::vector<const char*> frames;
    TaskGroup group;
    Signal over;
    for (int i = 0; i < 20; i++) {
        const StackSize size = i % 2 == 0 ? StackSize::kNormal : StackSize::kLarge;
        ASSERT_FALSE(group.spawn("holds a stack", size, [&] {
            frames.push_back(here());
            EXPECT_FALSE(over.wait_until(soon()));
        }));
    }
    ASSERT_TRUE(eventually([&] { return frames.size() == 20; }));
    const std::vector<StackRange> ranges = merged_stack_ranges();
    uint64_t bytes = 0;
    for (size_t i = 0; i < ranges.size(); i++) {
        bytes += ranges[i].size;
        if (i > 0) {
            EXPECT_GT(ranges[i].begin, ranges[i - 1].begin + ranges[i - 1].size) << "else merged";
        }
    }
    for (const char* frame : frames) {
        EXPECT_NE(range_of(ranges, frame), nullptr);
    }
    EXPECT_GE(bytes, stack_totals().bytes);
    const uint64_t resident = resident_stack_bytes(ranges);
    EXPECT_GT(resident, 0U);
    EXPECT_LE(resident, bytes);
    EXPECT_EQ(resident_stack_bytes({}), 0U);
    over.notify_all();
    ASSERT_FALSE(group.join_all(soon()));
}

TEST(StacksTest, TheMainStackIsNoPartOfTheRanges) {
    EXPECT_EQ(range_of(merged_stack_ranges(), here()), nullptr);
    EXPECT_EQ(guard_below(here()), nullptr);
}

}  // namespace
}  // namespace weir::io
