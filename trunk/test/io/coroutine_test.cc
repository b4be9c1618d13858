#include "io/coroutine.h"

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "io/deadline.h"
#include "io/runtime.h"
#include "io/signal.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

TEST(CoroutineTest, RunsItsBodyAtTheNextYieldOfTheCaller) {
    bool ran = false;
    Coroutine coroutine = go([&] { ran = true; });
    EXPECT_FALSE(ran);
    EXPECT_TRUE(coroutine.running());
    yield();
    EXPECT_TRUE(ran);
    EXPECT_FALSE(coroutine.running());
    coroutine.join();
}

TEST(CoroutineTest, JoinWaitsUntilTheBodyHasReturned) {
    bool finished = false;
    Coroutine coroutine = go([&] {
        EXPECT_FALSE(sleep_for(Millis(20)));
        finished = true;
    });
    coroutine.join();
    EXPECT_TRUE(finished);
}

TEST(CoroutineTest, JoinFindsTheCapturesOfTheBodyDestroyed) {
    auto token = std::make_shared<int>(1);
    std::weak_ptr<int> watch = token;
    Coroutine coroutine = go([token = std::move(token)] { yield(); });
    EXPECT_FALSE(watch.expired());
    coroutine.join();
    EXPECT_TRUE(watch.expired());
}

TEST(CoroutineTest, SeveralCanJoinTheSameOne) {
    int joined = 0;
    Coroutine target = go([] { EXPECT_FALSE(sleep_for(Millis(5))); });
    Coroutine first = go([&] { target.join(), joined++; });
    Coroutine second = go([&] { target.join(), joined++; });
    first.join();
    second.join();
    EXPECT_EQ(joined, 2);
}

TEST(CoroutineTest, JoinWorksForAJoinerThatIsAskedToStopItself) {
    bool cleaned_up = false;
    Coroutine child = go([&] {
        EXPECT_EQ(sleep_until(soon()).code(), ErrorCode::kInterrupted);
        EXPECT_FALSE(cleaned_up);
        yield();
        cleaned_up = true;
    });
    Coroutine owner = go([&] {
        EXPECT_EQ(sleep_until(soon()).code(), ErrorCode::kInterrupted);
        child.interrupt();
        child.join();
        EXPECT_TRUE(cleaned_up);
    });
    yield();
    owner.interrupt();
    owner.join();
}

TEST(CoroutineTest, HandleCanMoveWhileTheBodyRuns) {
    Coroutine first = go([] { EXPECT_EQ(sleep_until(soon()).code(), ErrorCode::kInterrupted); });
    yield();
    Coroutine second = std::move(first);
    EXPECT_TRUE(second.running());
    second.interrupt();
    second.join();
}

TEST(CoroutineTest, InterruptEndsTheCurrentWaitPromptly) {
    MonoTime end;
    Coroutine coroutine = go([&] {
        EXPECT_EQ(sleep_until(soon()).code(), ErrorCode::kInterrupted);
        EXPECT_TRUE(interrupted());
        end = MonoClock::now();
    });
    yield();
    MonoTime start = MonoClock::now();
    coroutine.interrupt();
    coroutine.join();
    EXPECT_LT(end - start, Seconds(5));
}

TEST(CoroutineTest, InterruptIsFeltByEveryLaterWait) {
    Coroutine coroutine = go([] {
        EXPECT_EQ(sleep_until(soon()).code(), ErrorCode::kInterrupted);
        EXPECT_EQ(sleep_for(Millis(1)).code(), ErrorCode::kInterrupted);
        Signal never;
        EXPECT_EQ(never.wait_until(soon()).code(), ErrorCode::kInterrupted);
    });
    yield();
    coroutine.interrupt();
    coroutine.join();
}

TEST(CoroutineTest, InterruptBeforeTheStartIsFeltByTheFirstWait) {
    ErrorCode code = ErrorCode::kOk;
    Coroutine coroutine = go([&] { code = sleep_until(soon()).code(); });
    coroutine.interrupt();
    coroutine.join();
    EXPECT_EQ(code, ErrorCode::kInterrupted);
}

TEST(CoroutineTest, InterruptIsForgottenByTheNextBodyOnTheSameStack) {
    Coroutine first = go([] { EXPECT_TRUE(interrupted()); });
    first.interrupt();
    first.join();
    Coroutine second = go([] {
        EXPECT_FALSE(interrupted());
        EXPECT_FALSE(sleep_for(Millis(1)));
    });
    second.join();
}

TEST(CoroutineTest, StopsAProcessThatDestroysARunningOne) {
    EXPECT_DEATH({ go([] { (void)sleep_until(soon()).code(); }); }, "check failed: !running");
}

TEST(CoroutineTest, LogIdIsInheritedByChildrenAndTheirOwnAfterwards) {
    set_log_id("r1234567");
    Coroutine child = go([] {
        EXPECT_EQ(log_id(), "r1234567");
        set_log_id("p7654321");
        yield();
        EXPECT_EQ(log_id(), "p7654321");
    });
    child.join();
    EXPECT_EQ(log_id(), "r1234567");
    set_log_id("");
}

TEST(CoroutineTest, LogIdIsCutAtItsLimit) {
    set_log_id("0123456789abcdefgh");
    EXPECT_EQ(log_id(), "0123456789abcde");
    set_log_id("");
}

TEST(CoroutineTest, LogIdOfAnotherThreadIsEmpty) {
    set_log_id("r1234567");
    std::string seen = "?";
    std::thread([&] { seen = log_id(); }).join();
    EXPECT_EQ(seen, "");
    set_log_id("");
}

std::string& logged() {
    static std::string text;
    return text;
}

TEST(CoroutineTest, LogLinesCarryTheIdOfTheCoroutine) {
    log::set_sink([](log::Level, std::string_view line) { logged() += line; });
    Coroutine coroutine = go([] {
        set_log_id("p0000001");
        yield();
        log::info("hello");
    });
    coroutine.join();
    log::set_sink(nullptr);
    EXPECT_NE(logged().find("[p0000001] hello"), std::string::npos) << logged();
}

TEST(TaskGroupTest, CountsWhatRunsAndReapsWhatEnded) {
    TaskGroup group;
    for (int i = 0; i < 3; i++) {
        ASSERT_FALSE(group.spawn("task", StackSize::kNormal, [] { yield(); }));
    }
    EXPECT_EQ(group.size(), 3U);
    ASSERT_FALSE(group.join_all(soon()));
    EXPECT_EQ(group.size(), 0U);
}

TEST(TaskGroupTest, InterruptsAllItsTasks) {
    TaskGroup group;
    int stopped = 0;
    for (int i = 0; i < 5; i++) {
        ASSERT_FALSE(group.spawn("task", StackSize::kNormal, [&] {
            EXPECT_EQ(sleep_until(soon()).code(), ErrorCode::kInterrupted);
            stopped++;
        }));
    }
    yield();
    group.interrupt_all();
    ASSERT_FALSE(group.join_all(soon()));
    EXPECT_EQ(stopped, 5);
}

TEST(TaskGroupTest, JoinGivesUpAtItsDeadline) {
    TaskGroup group;
    ASSERT_FALSE(group.spawn("task", StackSize::kNormal, [] { (void)sleep_until(soon()).code(); }));
    EXPECT_EQ(group.join_all(Deadline::after(Millis(10))).code(), ErrorCode::kTimeout);
    EXPECT_EQ(group.size(), 1U);
    group.interrupt_all();
    EXPECT_FALSE(group.join_all(soon()));
}

TEST(TaskGroupTest, TaskMaySpawnIntoItsOwnGroup) {
    TaskGroup group;
    int depth = 0;
    std::function<void()> nest = [&] {
        if (++depth < 10) {
            ASSERT_FALSE(group.spawn("nested", StackSize::kNormal, nest));
        }
    };
    ASSERT_FALSE(group.spawn("nested", StackSize::kNormal, nest));
    ASSERT_FALSE(group.join_all(soon()));
    EXPECT_EQ(depth, 10);
}

TEST(SignalTest, NotifyOneWakesTheLongestWaiting) {
    Signal signal;
    std::vector<int> order;
    TaskGroup group;
    for (int i = 0; i < 3; i++) {
        ASSERT_FALSE(group.spawn("waiter", StackSize::kNormal, [&, i] {
            EXPECT_FALSE(signal.wait_until(soon()));
            order.push_back(i);
        }));
    }
    yield();
    EXPECT_TRUE(signal.has_waiters());
    signal.notify_one();
    yield();
    EXPECT_EQ(order, std::vector<int>{0});
    signal.notify_all();
    ASSERT_FALSE(group.join_all(soon()));
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
    EXPECT_FALSE(signal.has_waiters());
}

TEST(SignalTest, WaitEndsAtItsDeadline) {
    Signal signal;
    MonoTime start = MonoClock::now();
    EXPECT_EQ(signal.wait_until(Deadline::after(Millis(20))).code(), ErrorCode::kTimeout);
    EXPECT_GE(MonoClock::now() - start, Millis(20));
    EXPECT_FALSE(signal.has_waiters());
}

TEST(SignalTest, NotificationBeforeTheWaitIsNotKept) {
    Signal signal;
    signal.notify_all();
    EXPECT_EQ(signal.wait_until(Deadline::after(Millis(2))).code(), ErrorCode::kTimeout);
}

TEST(SignalTest, WaiterInTheMiddleMayTimeOut) {
    Signal signal;
    std::vector<int> order;
    TaskGroup group;
    for (int i = 0; i < 3; i++) {
        ASSERT_FALSE(group.spawn("waiter", StackSize::kNormal, [&, i] {
            Deadline deadline = i == 1 ? Deadline::after(Millis(5)) : soon();
            Error error = signal.wait_until(deadline);
            order.push_back(error ? -i : i);
        }));
    }
    EXPECT_FALSE(sleep_for(Millis(30)));
    signal.notify_one();
    signal.notify_one();
    ASSERT_FALSE(group.join_all(soon()));
    EXPECT_EQ(order, (std::vector<int>{-1, 0, 2}));
}

TEST(SignalTest, InterruptTakesTheWaiterOffTheList) {
    Signal signal;
    Coroutine coroutine =
        go([&] { EXPECT_EQ(signal.wait_until(soon()).code(), ErrorCode::kInterrupted); });
    yield();
    coroutine.interrupt();
    coroutine.join();
    EXPECT_FALSE(signal.has_waiters());
}

TEST(SignalTest, MayBeDestroyedRightAfterItsLastNotification) {
    auto signal = std::make_unique<Signal>();
    bool woken = false;
    Coroutine coroutine = go([&, waiting = signal.get()] {
        EXPECT_FALSE(waiting->wait_until(soon()));
        woken = true;
    });
    yield();
    signal->notify_all();
    signal.reset();
    coroutine.join();
    EXPECT_TRUE(woken);
}

TEST(SignalTest, WaitEvenInterruptedHoldsOutUntilNotified) {
    Signal signal;
    bool released = false;
    Coroutine coroutine = go([&] {
        EXPECT_FALSE(signal.wait_even_interrupted(soon()));
        EXPECT_TRUE(released);
    });
    yield();
    coroutine.interrupt();
    yield();
    EXPECT_TRUE(signal.has_waiters());
    released = true;
    signal.notify_all();
    coroutine.join();
}

#ifdef WEIR_DEBUG_CHECKS
TEST(NoYieldTest, StopsTheProcessAtASwitch) {
    EXPECT_DEATH(
        {
            NoYield guard;
            yield();
        },
        "no_yield_depth == 0");
}
#endif

TEST(NoYieldTest, AllowsWhatDoesNotSwitch) {
    Signal signal;
    NoYield guard;
    signal.notify_all();
    EXPECT_FALSE(interrupted());
}

TEST(DeadlineTest, PassesAtItsTime) {
    EXPECT_TRUE(Deadline::after(Micros(-1)).passed());
    EXPECT_FALSE(soon().passed());
    EXPECT_FALSE(Deadline::forever().passed());
    EXPECT_GT(Deadline::forever().time() - MonoClock::now(), std::chrono::hours(24 * 3600));
}

TEST(TaskGroupTest, JoinHoldsOutForAJoinerThatIsAskedToStopItself) {
    TaskGroup group;
    Signal go_on;
    bool ended = false;
    ASSERT_FALSE(group.spawn("task", StackSize::kNormal, [&] {
        EXPECT_FALSE(go_on.wait_until(soon()));
        ended = true;
    }));
    bool joined_after_it = false;
    Coroutine joiner = go([&] {
        EXPECT_FALSE(group.join_all(soon()));
        joined_after_it = ended;
    });
    yield();
    joiner.interrupt();
    EXPECT_FALSE(sleep_for(Millis(2)));
    EXPECT_TRUE(joiner.running());
    go_on.notify_all();
    joiner.join();
    EXPECT_TRUE(joined_after_it);
}

TEST(TaskGroupTest, JoinAlsoWaitsForTasksThatTasksSpawn) {
    TaskGroup group;
    int ended = 0;
    std::function<void(int)> spawn_chain = [&](int left) {
        ASSERT_FALSE(group.spawn("chain", StackSize::kNormal, [&, left] {
            yield();
            if (left > 0) {
                spawn_chain(left - 1);
            }
            ended++;
        }));
    };
    spawn_chain(9);
    EXPECT_FALSE(group.join_all(soon()));
    EXPECT_EQ(ended, 10);
    EXPECT_EQ(group.size(), 0U);
}

TEST(TaskGroupTest, AnInterruptReachesATaskThatHasNotBegun) {
    TaskGroup group;
    ErrorCode code = ErrorCode::kOk;
    ASSERT_FALSE(
        group.spawn("task", StackSize::kNormal, [&] { code = sleep_until(soon()).code(); }));
    group.interrupt_all();
    ASSERT_FALSE(group.join_all(soon()));
    EXPECT_EQ(code, ErrorCode::kInterrupted);
    ASSERT_FALSE(
        group.spawn("later", StackSize::kNormal, [&] { code = sleep_for(Millis(1)).code(); }));
    ASSERT_FALSE(group.join_all(soon()));
    EXPECT_EQ(code, ErrorCode::kOk) << "those that come later were not asked";
}

TEST(SignalTest, NotifyAllWakesThoseWhoWaitNowAndNotThoseWhoComeBack) {
    Signal signal;
    int woken = 0;
    TaskGroup group;
    for (int i = 0; i < 3; i++) {
        ASSERT_FALSE(group.spawn("waits twice", StackSize::kNormal, [&] {
            EXPECT_FALSE(signal.wait_until(soon()));
            woken++;
            EXPECT_FALSE(signal.wait_until(soon()));
            woken++;
        }));
    }
    yield();
    signal.notify_all();
    EXPECT_FALSE(signal.has_waiters()) << "they are told, though they have not run yet";
    ASSERT_TRUE(eventually([&] { return woken == 3; }));
    EXPECT_TRUE(signal.has_waiters());
    signal.notify_all();
    ASSERT_FALSE(group.join_all(soon()));
    EXPECT_EQ(woken, 6);
}

// A notification that one waiter gets must not be lost when that one is asked to stop as well.
TEST(SignalTest, ANotificationCountsMoreThanAnInterruptThatComesAfterIt) {
    Signal signal;
    ErrorCode first = ErrorCode::kInternal;
    ErrorCode second = ErrorCode::kInternal;
    Coroutine notified = go([&] { first = signal.wait_until(soon()).code(); });
    Coroutine interrupted = go([&] { second = signal.wait_until(soon()).code(); });
    yield();
    signal.notify_one();
    notified.interrupt();
    interrupted.interrupt();
    signal.notify_one();
    notified.join();
    interrupted.join();
    EXPECT_EQ(first, ErrorCode::kOk);
    EXPECT_EQ(second, ErrorCode::kOk);
}

TEST(SignalTest, WaitEvenInterruptedStillEndsAtItsDeadline) {
    Signal signal;
    ErrorCode code = ErrorCode::kOk;
    Coroutine waiter =
        go([&] { code = signal.wait_even_interrupted(Deadline::after(Millis(5))).code(); });
    waiter.interrupt();
    waiter.join();
    EXPECT_EQ(code, ErrorCode::kTimeout);
    EXPECT_FALSE(signal.has_waiters());
}

TEST(CoroutineTest, AHandleThatIsEmptyOrEndedMayBeAskedAnything) {
    Coroutine empty;
    EXPECT_FALSE(empty.running());
    empty.interrupt();
    empty.join();
    Coroutine ended = go([] {});
    ended.join();
    ended.interrupt();
    ended.join();
    EXPECT_FALSE(ended.running());
    ended = go([] {});  // and may get another
    EXPECT_TRUE(ended.running());
    ended.join();
}

}  // namespace
}  // namespace weir::io
