#include "io/signals.h"

#include <signal.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "io/deadline.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

TEST(SignalSetTest, DeliversSignalsToACoroutine) {
    auto signals = SignalSet::create({SIGHUP, SIGUSR1});
    ASSERT_TRUE(signals.ok());
    Coroutine sender = go([] {
        EXPECT_FALSE(sleep_for(Millis(5)));
        kill(getpid(), SIGUSR1);
    });
    auto number = (*signals)->wait(soon());
    ASSERT_TRUE(number.ok()) << number.error().to_string();
    EXPECT_EQ(*number, SIGUSR1);
    kill(getpid(), SIGHUP);
    EXPECT_EQ((*signals)->wait(soon()).value(), SIGHUP);
    sender.join();
}

TEST(SignalSetTest, KeepsWhatArrivesWhileNobodyWaits) {
    auto signals = SignalSet::create({SIGHUP, SIGUSR1});
    ASSERT_TRUE(signals.ok());
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGHUP);
    EXPECT_FALSE(sleep_for(Millis(5)));
    int first = (*signals)->wait(soon()).value();
    int second = (*signals)->wait(soon()).value();
    EXPECT_EQ(first + second, SIGHUP + SIGUSR1);
}

TEST(SignalSetTest, WaitEndsAtItsDeadlineAndByInterrupt) {
    auto signals = SignalSet::create({SIGUSR1});
    ASSERT_TRUE(signals.ok());
    EXPECT_EQ((*signals)->wait(Deadline::after(Millis(5))).error().code(), ErrorCode::kTimeout);
    Coroutine waiter =
        go([&] { EXPECT_EQ((*signals)->wait(soon()).error().code(), ErrorCode::kInterrupted); });
    yield();
    waiter.interrupt();
    waiter.join();
}

TEST(SignalSetTest, RestoresTheMaskWhenItGoes) {
    {
        auto signals = SignalSet::create({SIGUSR2});
        ASSERT_TRUE(signals.ok());
        sigset_t mask;
        sigprocmask(SIG_BLOCK, nullptr, &mask);
        EXPECT_EQ(sigismember(&mask, SIGUSR2), 1);
    }
    sigset_t mask;
    sigprocmask(SIG_BLOCK, nullptr, &mask);
    EXPECT_EQ(sigismember(&mask, SIGUSR2), 0);
}

TEST(SignalSetTest, EachWaiterGetsASignalOfItsOwn) {
    auto signals = SignalSet::create({SIGUSR1, SIGUSR2});
    ASSERT_TRUE(signals.ok());
    int sum = 0;
    TaskGroup group;
    for (int i = 0; i < 2; i++) {
        ASSERT_FALSE(group.spawn("waits", StackSize::kNormal, [&] {
            const auto number = (*signals)->wait(soon());
            ASSERT_TRUE(number.ok()) << number.error().to_string();
            sum += *number;
        }));
    }
    yield();
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    ASSERT_FALSE(group.join_all(soon()));
    EXPECT_EQ(sum, SIGUSR1 + SIGUSR2);
    EXPECT_EQ((*signals)->wait(Deadline::after(Millis(5))).error().code(), ErrorCode::kTimeout);
}

TEST(SignalSetTest, WhatIsThereIsTakenAfterTheDeadline) {
    auto signals = SignalSet::create({SIGUSR1});
    ASSERT_TRUE(signals.ok());
    kill(getpid(), SIGUSR1);
    const auto number = (*signals)->wait(Deadline::at(MonoClock::now() - Seconds(1)));
    ASSERT_TRUE(number.ok()) << number.error().to_string();
    EXPECT_EQ(*number, SIGUSR1);
}

}  // namespace
}  // namespace weir::io
