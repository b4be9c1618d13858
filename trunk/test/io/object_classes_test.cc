// The classes of io/ that /api/v1/objects lists: each counts what it says while it is there.
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/object_count.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/runtime.h"
#include "io/signal.h"
#include "io/stacks.h"
#include "io/tcp.h"
#include "io/worker_pool.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

uint64_t live(std::string_view name) {
    const ObjectClass* found = find_object_class(name);
    return found ? found->live() : UINT64_MAX;
}

TEST(ObjectClassesTest, AConnectionCountsAtBothEndsUntilItIsGone) {
    const uint64_t connections = live("tcp_connection");
    const uint64_t descriptors = live("descriptor");
    const uint64_t listeners = live("listener");
    {
        const LoopbackPair pair = loopback_pair();
        EXPECT_EQ(live("tcp_connection"), connections + 2);
        EXPECT_EQ(runtime_stats().registered, live("descriptor"));
    }
    EXPECT_EQ(live("tcp_connection"), connections);
    EXPECT_EQ(live("descriptor"), descriptors);
    EXPECT_EQ(live("listener"), listeners);
}

TEST(ObjectClassesTest, ACoroutineThatWaitsIsOneOfThemWithATimer) {
    const uint64_t coroutines = live("coroutine");
    const uint64_t timers = live("timer");
    auto sleeper =
        Coroutine::spawn("sleeper", StackSize::kNormal, [] { EXPECT_FALSE(sleep_for(Millis(5))); });
    ASSERT_TRUE(sleeper.ok());
    yield();
    EXPECT_EQ(live("coroutine"), coroutines + 1);
    EXPECT_EQ(live("timer"), timers + 1);
    sleeper->join();
    EXPECT_EQ(live("coroutine"), coroutines);
    EXPECT_EQ(live("timer"), timers);
}

TEST(ObjectClassesTest, AWaitWithoutAnEndIsNoTimer) {
    const uint64_t timers = live("timer");
    Signal never;
    auto waiting = Coroutine::spawn("waiting", StackSize::kNormal, [&never] {
        EXPECT_EQ(never.wait_until(Deadline::forever()).code(), ErrorCode::kInterrupted);
    });
    ASSERT_TRUE(waiting.ok());
    yield();
    EXPECT_EQ(live("timer"), timers);
    waiting->interrupt();
    waiting->join();
}

TEST(ObjectClassesTest, EveryStackIsInUseOrKept) {
    TaskGroup many;
    for (int i = 0; i < 100; i++) {
        ASSERT_FALSE(many.spawn("one of many", StackSize::kNormal, [] { yield(); }));
    }
    const uint64_t in_use = live("stack");
    EXPECT_GE(in_use, 100U);
    EXPECT_EQ(in_use + live("stack_kept"), stack_totals().count);
    ASSERT_FALSE(many.join_all(Deadline::after(Seconds(10))));
    yield();
    EXPECT_LT(live("stack"), in_use) << "few stay warm";
    EXPECT_EQ(live("stack") + live("stack_kept"), stack_totals().count);
    EXPECT_EQ(find_object_class("stack")->bytes() + find_object_class("stack_kept")->bytes(),
              stack_totals().bytes);
}

TEST(ObjectClassesTest, StackMemoryIsWhatWasTouched) {
    // Those of the process: one is in use, and all of them may have been touched by other tests.
    const uint64_t resident = resident_stack_bytes(merged_stack_ranges());
    EXPECT_GE(resident, 4096U);
    EXPECT_LE(resident, stack_totals().bytes);

    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t size = 16 * page;
    void* const memory =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* const bytes = static_cast<char*>(memory);
    bytes[0] = 1;
    bytes[7 * page + 1] = 1;
    EXPECT_EQ(resident_stack_bytes({{bytes, size}}), 2 * page);
    munmap(memory, size);
}

TEST(ObjectClassesTest, AJobCountsUntilItsAnswerWasTaken) {
    auto pool = WorkerPool::create(1, 4);
    ASSERT_TRUE(pool.ok());
    const uint64_t jobs = live("worker_job");
    uint64_t during = 0;
    ASSERT_FALSE((*pool)->submit([] {}, [&] { during = live("worker_job"); }));
    EXPECT_EQ(live("worker_job"), jobs + 1);
    ASSERT_FALSE((*pool)->run([] {}));
    EXPECT_GE(during, jobs + 1);
    EXPECT_EQ(live("worker_job"), jobs);
}

TEST(ObjectClassesTest, JobsThatNeverRanAreGoneWithTheirPool) {
    const uint64_t jobs = live("worker_job");
    {
        auto pool = WorkerPool::create(1, 100);
        ASSERT_TRUE(pool.ok());
        for (int i = 0; i < 100; i++) {
            (void)(*pool)->submit([] {}, [] {}).code();
        }
        EXPECT_GT(live("worker_job"), jobs);
    }
    EXPECT_EQ(live("worker_job"), jobs);
}

}  // namespace
}  // namespace weir::io
