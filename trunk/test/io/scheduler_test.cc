// Timers, exceptions across switches, stack memory: what io/ adds to libst.
#include "io/scheduler.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "io/fiber.h"
#include "io/runtime.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

// Runs the body until it is content: a busy machine may spoil measurements of time for a while.
template <typename Body>
void at_last(Body body) {
    std::string last;
    EXPECT_TRUE(eventually([&] {
        last = body();
        return last.empty();
    })) << last;
}

// ---- Timers

TEST(TimerTest, NeverFiresEarly) {
    for (int i = 0; i < 20; i++) {
        MonoTime start = MonoClock::now();
        ASSERT_FALSE(sleep_for(Millis(3)));
        EXPECT_GE(MonoClock::now() - start, Millis(3));
        std::this_thread::sleep_for(Micros(337));  // another phase of the millisecond
    }
}

TEST(TimerTest, FiresWithinTwoMilliseconds) {
    at_last([]() -> std::string {
        MonoTime start = MonoClock::now();
        EXPECT_FALSE(sleep_for(Millis(20)));
        Micros late = MonoClock::now() - start - Millis(20);
        return late < Millis(2) ? "" : fmt::format("{} us late", late.count());
    });
}

TEST(TimerTest, FiresInTimeAfterALongRunOfAnotherCoroutine) {
    at_last([]() -> std::string {
        Micros late{0};
        Coroutine sleeper = go([&] {
            MonoTime start = MonoClock::now();
            EXPECT_FALSE(sleep_for(Millis(30)));
            late = MonoClock::now() - start - Millis(30);
        });
        yield();
        std::this_thread::sleep_for(Millis(20));  // holds the media thread on purpose
        sleeper.join();
        return late < Millis(3) ? "" : fmt::format("{} us late", late.count());
    });
}

TEST(TimerTest, DoesNotFireEarlyForACoroutineThatRanLongBefore) {
    std::this_thread::sleep_for(Millis(20));  // libst's clock is that of its last idle round
    MonoTime start = MonoClock::now();
    ASSERT_FALSE(sleep_for(Millis(10)));
    EXPECT_GE(MonoClock::now() - start, Millis(10));
}

TEST(TimerTest, PassedDeadlineReturnsAtOnceButLetsOthersRun) {
    bool other_ran = false;
    Coroutine other = go([&] { other_ran = true; });
    EXPECT_FALSE(sleep_until(Deadline::after(Micros(0))));
    EXPECT_TRUE(other_ran);
    other.join();
}

TEST(TimerTest, ManyFireInTheOrderOfTheirDeadlines) {
    at_last([]() -> std::string {
        std::vector<int> order;
        TaskGroup group;
        MonoTime start = MonoClock::now();
        for (int i = 0; i < 50; i++) {
            int delay_ms = 50 + (i * 37 % 50) * 2;  // all should be asleep before the first is due
            EXPECT_FALSE(group.spawn("sleeper", StackSize::kNormal, [&order, start, delay_ms] {
                EXPECT_FALSE(sleep_until(Deadline::at(start + Millis(delay_ms))));
                order.push_back(delay_ms);
            }));
        }
        EXPECT_FALSE(group.join_all(soon()));
        EXPECT_EQ(order.size(), 50U);
        return std::is_sorted(order.begin(), order.end()) ? "" : "not in order";
    });
}

TEST(TimerTest, SleepingProcessDoesNotSpin) {
    uint64_t before = runtime_stats().reactor_loops;
    ASSERT_FALSE(sleep_for(Millis(300)));
    EXPECT_LE(runtime_stats().reactor_loops - before, 4U);
}

TEST(TimerTest, HundredSleepersDoNotSpinInTheLastMillisecond) {
    uint64_t before = runtime_stats().reactor_loops;
    TaskGroup group;
    for (int i = 0; i < 100; i++) {
        ASSERT_FALSE(group.spawn("sleeper", StackSize::kNormal, [] {
            for (int round = 0; round < 5; round++) {
                EXPECT_FALSE(sleep_for(Millis(40)));
            }
        }));
    }
    ASSERT_FALSE(group.join_all(soon()));
    // One loop a millisecond that has something to do, not 200,000 a second.
    EXPECT_LE(runtime_stats().reactor_loops - before, 150U);
}

TEST(TimerTest, VeryLongWaitsAreNotCutShort) {
    for (Micros delay :
         {Micros(std::chrono::hours(24 * 30)), Micros(std::chrono::hours(24 * 3650))}) {
        Signal signal;
        Coroutine waiter = go([&] { EXPECT_FALSE(signal.wait_until(Deadline::after(delay))); });
        EXPECT_FALSE(sleep_for(Millis(5)));
        EXPECT_TRUE(waiter.running());
        signal.notify_all();
        waiter.join();
    }
}

// ---- Exceptions (those of third parties: our own code has none)

[[noreturn]] __attribute__((noinline)) void throw_deep(int depth) {
    volatile char frame[200];
    frame[0] = static_cast<char>(depth);
    if (depth > 0) {
        throw_deep(depth - 1);
    }
    throw std::runtime_error("deep " + std::to_string(frame[0]));
}

struct SleepsWhenDestroyed {
    int& bad;

    ~SleepsWhenDestroyed() {
        (void)sleep_for(Millis(1)).code();
        bad += std::uncaught_exceptions() == 1 ? 0 : 1;
    }
};

void throw_and_switch(int id, int& bad) {
    try {
        throw_deep(40);
    } catch (const std::exception& outer) {
        std::string text = outer.what();
        (void)sleep_for(Millis(id % 7)).code();
        bad += std::uncaught_exceptions() == 0 ? 0 : 1;
        try {
            throw;
        } catch (const std::runtime_error& inner) {
            (void)sleep_for(Millis(id % 3)).code();
            bad += text == inner.what() ? 0 : 1;
        }
    }
    try {
        SleepsWhenDestroyed guard{bad};
        throw id;
    } catch (int caught) {
        bad += caught == id ? 0 : 1;
    }
}

TEST(ExceptionTest, StayWithTheirCoroutineAcrossSwitches) {
    int done = 0;
    int bad = 0;
    TaskGroup group;
    for (int i = 0; i < 500; i++) {
        ASSERT_FALSE(group.spawn("thrower", StackSize::kNormal, [&, i] {
            for (int round = 0; round < 4; round++) {
                throw_and_switch(i, bad);
            }
            done++;
        }));
    }
    std::thread thread([] {
        for (int i = 0; i < 300; i++) {
            try {
                throw_deep(10);
            } catch (const std::exception&) {
                continue;
            }
        }
    });
    ASSERT_FALSE(group.join_all(soon()));
    thread.join();
    EXPECT_EQ(done, 500);
    EXPECT_EQ(bad, 0);
}

TEST(ExceptionTest, EndsTheProcessWhenItLeavesTheCoroutine) {
    EXPECT_DEATH(
        { go([] { throw std::runtime_error("nobody catches this"); }).join(); },
        "nobody catches this");
}

// ---- Stacks and their memory

__attribute__((noinline)) void touch_stack(size_t bytes) {
    volatile char frame[1024];
    std::memset(const_cast<char*>(frame), 1, sizeof frame);
    if (bytes > sizeof frame) {
        touch_stack(bytes - sizeof frame);
    }
    frame[1] = frame[0];
}

void burst(int count) {
    TaskGroup group;
    Signal release;
    bool released = false;
    for (int i = 0; i < count; i++) {
        ASSERT_FALSE(group.spawn("burst", StackSize::kNormal, [&] {
            touch_stack(8 * 1024);
            while (!released) {
                EXPECT_FALSE(release.wait_until(soon()));
            }
        }));
    }
    yield();
    EXPECT_EQ(group.size(), static_cast<size_t>(count));
    released = true;
    release.notify_all();
    ASSERT_FALSE(group.join_all(soon()));
}

// Lets the reactor give back what has ended.
void settle() {
    for (int i = 0; i < 100; i++) {
        yield();
    }
}

TEST(StackMemoryTest, ReturnsToTheSystemAfterABurst) {
    burst(64);
    settle();
    size_t before_kib = resident_kib();
    burst(5000);
    settle();
    size_t grown_kib = resident_kib() - std::min(before_kib, resident_kib());
    RecordProperty("grown_kib", static_cast<int>(grown_kib));
    // 5,000 stacks of 12 KiB are 60 MB. What stays is the heap's; the sanitizer adds its shadow and
    // keeps freed blocks.
    EXPECT_LT(grown_kib, WEIR_ASAN ? 70'000U : 4'000U);
}

TEST(StackMemoryTest, SecondBurstNeedsNoNewStacks) {
    burst(300);
    settle();
    RuntimeStats before = runtime_stats();
    burst(300);
    EXPECT_EQ(runtime_stats().stacks, before.stacks);
    EXPECT_EQ(runtime_stats().coroutines_created, before.coroutines_created + 300);
}

TEST(StackMemoryTest, OneAfterTheOtherReusesTheWarmStack) {
    burst(300);
    settle();
    uint64_t before = runtime_stats().stacks_dropped;
    const void* first = nullptr;
    for (int i = 0; i < 100; i++) {
        go([&] {
            const void* here = __builtin_frame_address(0);
            first = first == nullptr ? here : first;
            EXPECT_EQ(here, first);
        }).join();
    }
    EXPECT_EQ(runtime_stats().stacks_dropped, before);
}

TEST(StackMemoryTest, LargeStacksHoldDeepCalls) {
    auto coroutine = Coroutine::spawn("deep", StackSize::kLarge, [] { touch_stack(150 * 1024); });
    ASSERT_TRUE(coroutine.ok());
    coroutine->join();
}

TEST(StackOverflowTest, NamesTheCoroutineThenCrashes) {
    auto overflow = [] {
        auto coroutine =
            Coroutine::spawn("glutton", StackSize::kNormal, [] { touch_stack(10 * 1024 * 1024); });
        WEIR_CHECK(coroutine.ok());
        coroutine->join();
    };
    EXPECT_DEATH(overflow(), "stack overflow in coroutine glutton \\(stack of 64 KiB\\)");
}

// ---- Statistics

TEST(RuntimeTest, CannotStartTwice) {
    EXPECT_EQ(init_runtime().code(), ErrorCode::kInternal);
}

TEST(RuntimeTest, CountsLiveCoroutines) {
    uint64_t before = runtime_stats().coroutines_live;
    Coroutine coroutine = go([] { (void)sleep_until(soon()).code(); });
    EXPECT_EQ(runtime_stats().coroutines_live, before + 1);
    yield();
    coroutine.interrupt();
    coroutine.join();
    EXPECT_EQ(runtime_stats().coroutines_live, before);
}

TEST(RuntimeTest, BusyShareIsHighAfterWorkAndLowAfterSleep) {
    at_last([]() -> std::string {
        std::this_thread::sleep_for(Millis(150));  // outside epoll: counts as busy
        EXPECT_GT(busy_share(), 0.9);
        EXPECT_FALSE(sleep_for(Millis(150)));
        double share = busy_share();
        return share < 0.1 ? "" : fmt::format("share {}", share);
    });
}

TEST(RuntimeTest, BusyShareOfAHalfBusyLoopIsAboutHalf) {
    at_last([]() -> std::string {
        for (int i = 0; i < 20; i++) {
            std::this_thread::sleep_for(Millis(10));
            EXPECT_FALSE(sleep_for(Millis(10)));
        }
        double share = busy_share();
        return share > 0.3 && share < 0.65 ? "" : fmt::format("share {}", share);
    });
}

}  // namespace
}  // namespace weir::io
