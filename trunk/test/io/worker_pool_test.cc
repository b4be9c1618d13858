#include "io/worker_pool.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <signal.h>

#include <gtest/gtest.h>

#include "base/build.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/signal.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

// Holds workers back until opened.
class Gate {
  public:
    void pass() {
        std::unique_lock lock(mutex_);
        entered_++;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
    }

    void open() {
        std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

    void wait_for_entered(int count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this, count] { return entered_ >= count; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int entered_ = 0;
    bool open_ = false;
};

std::unique_ptr<WorkerPool> pool_of(size_t threads, size_t queue_limit) {
    auto pool = WorkerPool::create(threads, queue_limit);
    EXPECT_TRUE(pool.ok());
    return std::move(*pool);
}

TEST(WorkerPoolTest, WorksOnAnotherThreadAndAnswersOnThisOne) {
    auto pool = pool_of(1, 10);
    std::thread::id worked;
    std::thread::id answered;
    Signal done;
    ASSERT_FALSE(pool->submit([&] { worked = std::this_thread::get_id(); },
                              [&] {
                                  answered = std::this_thread::get_id();
                                  done.notify_all();
                              }));
    ASSERT_FALSE(done.wait_until(soon()));
    EXPECT_NE(worked, std::this_thread::get_id());
    EXPECT_EQ(answered, std::this_thread::get_id());
}

TEST(WorkerPoolTest, WorkersTakeNoSignalsButThoseOfACrashAndOfAProfiler) {
    auto pool = pool_of(1, 10);
    sigset_t blocked;
    sigemptyset(&blocked);
    ASSERT_FALSE(pool->run([&] { pthread_sigmask(SIG_BLOCK, nullptr, &blocked); }));
    EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
    EXPECT_EQ(sigismember(&blocked, SIGSEGV), 0);
    EXPECT_EQ(sigismember(&blocked, SIGPROF), WEIR_CPU_PROFILER || WEIR_GPROF ? 0 : 1);
}

TEST(WorkerPoolTest, RunLetsOtherCoroutinesGoOn) {
    auto pool = pool_of(1, 10);
    Gate gate;
    int turns = 0;
    Coroutine other = go([&] {
        for (; turns < 10; turns++) {
            yield();
        }
        gate.open();
    });
    EXPECT_FALSE(pool->run([&] { gate.pass(); }));
    EXPECT_EQ(turns, 10);
    other.join();
}

TEST(WorkerPoolTest, RunHoldsOutWhenAskedToStop) {
    auto pool = pool_of(1, 10);
    Gate gate;
    bool finished = false;
    Coroutine caller = go([&] {
        int local = 0;
        EXPECT_FALSE(pool->run([&] {
            gate.pass();
            local = 1;
        }));
        EXPECT_EQ(local, 1);
        finished = true;
    });
    yield();
    caller.interrupt();
    EXPECT_FALSE(sleep_for(Millis(10)));
    EXPECT_FALSE(finished);
    gate.open();
    caller.join();
    EXPECT_TRUE(finished);
}

TEST(WorkerPoolTest, RefusesWhatDoesNotFitTheQueue) {
    auto pool = pool_of(1, 2);
    Gate gate;
    int answers = 0;
    ASSERT_FALSE(pool->submit([&] { gate.pass(); }, [&] { answers++; }));
    gate.wait_for_entered(1);
    ASSERT_FALSE(pool->submit([] {}, [&] { answers++; }));
    ASSERT_FALSE(pool->submit([] {}, [&] { answers++; }));
    EXPECT_EQ(pool->submit([] {}, [&] { answers++; }).code(), ErrorCode::kLimit);
    EXPECT_EQ(pool->run([] {}).code(), ErrorCode::kLimit);
    EXPECT_EQ(pool->refused(), 2U);
    gate.open();
    for (Deadline deadline = soon(); answers < 3 && !deadline.passed();) {
        EXPECT_FALSE(sleep_for(Millis(1)));
    }
    EXPECT_EQ(answers, 3);
}

TEST(WorkerPoolTest, UsesAllItsThreads) {
    auto pool = pool_of(3, 10);
    Gate gate;
    TaskGroup group;
    for (int i = 0; i < 3; i++) {
        ASSERT_FALSE(group.spawn("caller", StackSize::kNormal,
                                 [&] { EXPECT_FALSE(pool->run([&] { gate.pass(); })); }));
    }
    yield();
    gate.wait_for_entered(3);  // would hang if they worked one after the other
    gate.open();
    EXPECT_FALSE(group.join_all(soon()));
}

TEST(WorkerPoolTest, ManyJobsAllAnswer) {
    auto pool = pool_of(2, 5000);
    std::atomic<int> worked = 0;
    int answered = 0;
    for (int i = 0; i < 5000; i++) {
        ASSERT_FALSE(pool->submit([&] { worked++; }, [&] { answered++; }));
    }
    for (Deadline deadline = soon(); answered < 5000 && !deadline.passed();) {
        EXPECT_FALSE(sleep_for(Millis(1)));
    }
    EXPECT_EQ(worked, 5000);
    EXPECT_EQ(answered, 5000);
}

TEST(WorkerPoolTest, DestructorWaitsForTheRunningJobAndDropsTheQueued) {
    bool dropped = false;
    // The destructor has to begin while the job runs: a busy machine may need more time for that.
    for (Millis time{30}; !dropped && time < Seconds(30); time *= 4) {
        Gate gate;
        std::atomic<bool> running_finished = false;
        std::atomic<bool> queued_ran = false;
        bool answered = false;
        std::thread opener;
        {
            auto pool = pool_of(1, 10);
            ASSERT_FALSE(pool->submit(
                [&] {
                    gate.pass();
                    running_finished = true;
                },
                [&] { answered = true; }));
            gate.wait_for_entered(1);
            ASSERT_FALSE(pool->submit([&] { queued_ran = true; }, [&] { answered = true; }));
            opener = std::thread([&] {
                std::this_thread::sleep_for(time);
                gate.open();
            });
        }
        opener.join();
        EXPECT_TRUE(running_finished);
        EXPECT_FALSE(sleep_for(Millis(5)));
        EXPECT_FALSE(answered);
        dropped = !queued_ran;
    }
    EXPECT_TRUE(dropped);
}

TEST(WorkerPoolTest, RunSaysThatThereIsNoRoomAndDoesNotRun) {
    auto pool = pool_of(1, 1);
    Gate gate;
    ASSERT_FALSE(pool->submit([&] { gate.pass(); }, nullptr));
    gate.wait_for_entered(1);
    ASSERT_FALSE(pool->submit([] {}, nullptr));  // fills the queue
    bool ran = false;
    EXPECT_EQ(pool->run([&] { ran = true; }).code(), ErrorCode::kLimit);
    EXPECT_EQ(pool->refused(), 1U);
    gate.open();
    EXPECT_TRUE(eventually([&] { return !pool->run([] {}); }));
    EXPECT_FALSE(ran);
}

TEST(WorkerPoolTest, AJobThatNobodyAsksAfterHoldsUpNoAnswer) {
    auto pool = pool_of(1, 10);
    std::atomic<int> worked = 0;
    bool answered = false;
    ASSERT_FALSE(pool->submit([&] { worked++; }, nullptr));
    ASSERT_FALSE(pool->submit([&] { worked++; }, [&] { answered = true; }));
    EXPECT_TRUE(eventually([&] { return answered; }));
    EXPECT_EQ(worked, 2);
}

TEST(WorkerPoolTest, OneThreadWorksAndAnswersInOrder) {
    constexpr int kJobs = 50;
    auto pool = pool_of(1, kJobs);
    std::vector<int> worked;  // of the one thread until all have answered
    std::vector<int> answered;
    std::vector<int> expected;
    for (int i = 0; i < kJobs; i++) {
        expected.push_back(i);
        ASSERT_FALSE(
            pool->submit([&worked, i] { worked.push_back(i); }, [&, i] { answered.push_back(i); }));
    }
    ASSERT_TRUE(eventually([&] { return answered.size() == kJobs; }));
    EXPECT_EQ(worked, expected);
    EXPECT_EQ(answered, expected);
}

// What work holds may be large: it must not wait for the media thread.
TEST(WorkerPoolTest, WhatTheWorkHeldIsGoneBeforeItsAnswer) {
    auto pool = pool_of(1, 10);
    auto held = std::make_shared<int>(1);
    const std::weak_ptr<int> seen = held;
    bool answered = false;
    bool gone = false;
    ASSERT_FALSE(pool->submit([held = std::move(held)] { (void)*held; },
                              [&] {
                                  answered = true;
                                  gone = seen.expired();
                              }));
    ASSERT_TRUE(eventually([&] { return answered; }));
    EXPECT_TRUE(gone);
}

TEST(WorkerPoolTest, AnAnswerMaySubmitTheNextJob) {
    auto pool = pool_of(2, 1);
    int rounds = 0;
    std::function<void()> next = [&] {
        if (++rounds < 20) {
            EXPECT_FALSE(pool->submit([] {}, next));
        }
    };
    ASSERT_FALSE(pool->submit([] {}, next));
    EXPECT_TRUE(eventually([&] { return rounds == 20; }));
    EXPECT_EQ(pool->refused(), 0U);
}

TEST(WorkerPoolTest, ManyMayRunAtOnceAndEachIsWokenByItsOwn) {
    auto pool = pool_of(2, 20);
    Gate gate;
    Coroutine slow = go([&] { EXPECT_FALSE(pool->run([&] { gate.pass(); })); });
    TaskGroup group;
    std::array<int, 10> results{};
    for (int& result : results) {
        ASSERT_FALSE(group.spawn("runs", StackSize::kNormal,
                                 [&] { EXPECT_FALSE(pool->run([&] { result++; })); }));
    }
    EXPECT_FALSE(group.join_all(soon())) << "the other thread does them";
    EXPECT_TRUE(slow.running());
    gate.open();
    slow.join();
    for (const int result : results) {
        EXPECT_EQ(result, 1);
    }
}

}  // namespace
}  // namespace weir::io
