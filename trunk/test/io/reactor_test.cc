#include "io/reactor.h"

#include <array>
#include <functional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "io/runtime.h"
#include "io/signal.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

// An eventfd and what the reactor said about it.
class Probe final : public EventHandler {
  public:
    Probe() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) { arm(); }

    ~Probe() { close(); }

    Probe(const Probe&) = delete;
    Probe& operator=(const Probe&) = delete;

    void on_ready(uint8_t ready) override {
        calls++;
        last = ready;
        if (action) {
            auto run = action;  // which may destroy the action, and this
            run();
        }
    }

    void arm() {
        auto registration = Registration::add(fd_, *this);
        WEIR_CHECK(registration.ok());
        registration_ = std::move(*registration);
    }

    void close() {
        registration_.remove();
        if (fd_ >= 0) {
            ::close(fd_);
            fd_ = -1;
        }
    }

    void fire() const {
        uint64_t one = 1;
        WEIR_CHECK(write(fd_, &one, sizeof one) == sizeof one);
    }

    // Takes over a number that was closed.
    void replace_fd(int number) {
        registration_.remove();
        int duplicate = fcntl(fd_, F_DUPFD_CLOEXEC, number);
        WEIR_CHECK(duplicate == number);
        ::close(fd_);
        fd_ = duplicate;
        arm();
    }

    int fd() const { return fd_; }

    Registration& registration() { return registration_; }

    int calls = 0;
    uint8_t last = 0;
    std::function<void()> action;

  private:
    int fd_;
    Registration registration_;
};

void run_reactor() {
    for (int i = 0; i < 5; i++) {
        yield();
    }
}

TEST(ReactorTest, ReportsAnEdgeOnce) {
    Probe probe;
    run_reactor();
    EXPECT_EQ(probe.calls, 1);  // writable from the beginning
    EXPECT_EQ(probe.last, kWritable);
    probe.fire();
    run_reactor();
    EXPECT_EQ(probe.calls, 2);
    EXPECT_TRUE(probe.last & kReadable);
    run_reactor();
    EXPECT_EQ(probe.calls, 2);  // still readable, but no new edge
}

TEST(ReactorTest, RemovedDescriptorIsSilent) {
    Probe probe;
    run_reactor();
    probe.registration().remove();
    EXPECT_FALSE(probe.registration().active());
    probe.fire();
    run_reactor();
    EXPECT_EQ(probe.calls, 1);
}

TEST(ReactorTest, RegistrationCountsAndMoves) {
    uint64_t before = runtime_stats().registered;
    {
        Probe probe;
        EXPECT_EQ(runtime_stats().registered, before + 1);
        Registration moved = std::move(probe.registration());
        EXPECT_TRUE(moved.active());
        EXPECT_FALSE(probe.registration().active());
        run_reactor();
        EXPECT_EQ(probe.calls, 1);
        probe.registration() = std::move(moved);
        EXPECT_EQ(runtime_stats().registered, before + 1);
    }
    EXPECT_EQ(runtime_stats().registered, before);
}

TEST(ReactorTest, HandlerCanBeReplaced) {
    Probe probe;
    Probe other;
    run_reactor();
    probe.registration().set_handler(other);
    probe.fire();
    run_reactor();
    EXPECT_EQ(probe.calls, 1);
    EXPECT_EQ(other.calls, 2);
}

TEST(ReactorTest, EventOfADescriptorClosedInTheSameBatchIsDropped) {
    Probe first;
    Probe second;
    run_reactor();
    uint64_t stale_before = runtime_stats().stale_events;
    first.action = [&] { second.close(); };
    second.action = [&] { first.close(); };
    first.fire();
    second.fire();
    run_reactor();
    // Whichever came first closed the other, whose event was already in the batch.
    EXPECT_EQ(first.calls + second.calls, 3);
    EXPECT_EQ(runtime_stats().stale_events, stale_before + 1);
}

TEST(ReactorTest, SuccessorOnTheSameNumberAndSlotNeverGetsTheOldEvent) {
    Probe closer;
    auto victim = std::make_unique<Probe>();
    Probe victim_too;
    run_reactor();
    std::unique_ptr<Probe> successor;
    int number = victim->fd();
    closer.action = [&] {
        closer.action = nullptr;
        victim->close();
        // The number was just freed, and so was the slot in the reactor.
        successor = std::make_unique<Probe>();
        ASSERT_EQ(successor->fd(), number);
        successor->registration().remove();
        successor->registration().remove();  // a second time is harmless
        successor->arm();
    };
    closer.fire();
    victim->fire();
    uint64_t stale_before = runtime_stats().stale_events;
    run_reactor();
    ASSERT_NE(successor, nullptr);
    EXPECT_EQ(runtime_stats().stale_events, stale_before + 1);
    EXPECT_EQ(victim->calls, 1);
    EXPECT_EQ(successor->calls, 1);
    EXPECT_EQ(successor->last, kWritable);  // its own first edge; the victim's event was "readable"
}

TEST(ReactorTest, HandlerMayDestroyItself) {
    auto probe = std::make_unique<Probe>();
    run_reactor();
    probe->action = [&] { probe.reset(); };
    probe->fire();
    run_reactor();
    EXPECT_EQ(probe, nullptr);
}

TEST(ReactorTest, MoreEventsThanOneBatchAllArrive) {
    std::vector<std::unique_ptr<Probe>> probes;
    for (int i = 0; i < 500; i++) {
        probes.push_back(std::make_unique<Probe>());
    }
    for (int i = 0; i < 20; i++) {
        run_reactor();
    }
    for (auto& probe : probes) {
        probe->fire();
    }
    for (int i = 0; i < 20; i++) {
        run_reactor();
    }
    for (auto& probe : probes) {
        EXPECT_EQ(probe->calls, 2);
    }
}

TEST(ReactorTest, ReadyCoroutineRunsBetweenTheBatches) {
    std::vector<std::unique_ptr<Probe>> probes;
    int called = 0;
    int called_when_woken = -1;
    Signal signal;
    Coroutine waiter = go([&] {
        EXPECT_FALSE(signal.wait_until(soon()));
        called_when_woken = called;
    });
    for (int i = 0; i < 1000; i++) {
        probes.push_back(std::make_unique<Probe>());
        probes.back()->action = [&] {
            called++;
            signal.notify_all();
        };
    }
    waiter.join();
    EXPECT_GT(called_when_woken, 0);
    EXPECT_LT(called_when_woken, 1000);
}

TEST(ReactorTest, RefusesWhatEpollCannotWatch) {
    Probe handler;
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    int directory = open("/", O_RDONLY | O_CLOEXEC);
    EXPECT_FALSE(Registration::add(directory, handler).ok());
    EXPECT_FALSE(Registration::add(-1, handler).ok());
    uint64_t registered = runtime_stats().registered;
    Probe works_afterwards;
    EXPECT_EQ(runtime_stats().registered, registered + 1);
    ::close(file);
    ::close(directory);
}

TEST(ReactorTest, KnowsHowLongTheThreadRunsAtAStretch) {
    EXPECT_FALSE(sleep_for(Millis(1)));
    const TurnStats before = turn_stats();
    constexpr Millis kBusy{30};
    for (const MonoTime end = MonoClock::now() + kBusy; MonoClock::now() < end;) {
    }
    EXPECT_FALSE(sleep_for(Millis(1)));  // the turn has ended
    const TurnStats after = turn_stats();
    EXPECT_GE(after.longest, kBusy);
    EXPECT_GE(after.busy_us, before.busy_us + 30'000);
    uint64_t long_turns = 0;
    for (size_t i = 0; i < after.counts.size(); i++) {
        const bool is_long = i == TurnStats::kBoundsUs.size() || TurnStats::kBoundsUs[i] > 20'000;
        long_turns += is_long ? after.counts[i] - before.counts[i] : 0;
    }
    EXPECT_GE(long_turns, 1U);
}

TEST(ReactorTest, AHangupIsAlsoReadableAndWritable) {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);

    struct Ears final : EventHandler {
        void on_ready(uint8_t ready) override { heard |= ready; }

        uint8_t heard = 0;
    } ears;

    auto registration = Registration::add(ends[0], ears);
    ASSERT_TRUE(registration.ok());
    run_reactor();
    EXPECT_EQ(ears.heard, kWritable);
    ears.heard = 0;
    ASSERT_EQ(shutdown(ends[1], SHUT_WR), 0);
    EXPECT_TRUE(eventually([&] { return ears.heard != 0; }));
    EXPECT_EQ(ears.heard & (kReadable | kHangup | kFault), kReadable | kHangup) << "half closed";
    ears.heard = 0;
    close(ends[1]);
    EXPECT_TRUE(eventually([&] { return ears.heard != 0; }));
    EXPECT_EQ(ears.heard & (kReadable | kWritable | kHangup), kReadable | kWritable | kHangup);
    registration->remove();
    close(ends[0]);
}

TEST(ReactorTest, ARegistrationThatIsOverwrittenIsRemoved) {
    const uint64_t before = runtime_stats().registered;
    Probe first;
    Probe second;
    run_reactor();
    EXPECT_EQ(runtime_stats().registered, before + 2);
    first.registration() = std::move(second.registration());
    EXPECT_EQ(runtime_stats().registered, before + 1);
    first.calls = second.calls = 0;
    first.fire();
    second.fire();
    EXPECT_TRUE(eventually([&] { return second.calls == 1; }));
    EXPECT_EQ(first.calls, 0) << "its descriptor is not watched any more";
    first.registration().remove();
    first.registration().remove();
    EXPECT_EQ(runtime_stats().registered, before);
    second.fire();
    run_reactor();
    EXPECT_EQ(second.calls, 1);
}

TEST(ReactorTest, ADescriptorIsRegisteredOnceOnly) {
    const uint64_t before = runtime_stats().registered;
    Probe probe;
    Probe other;
    auto again = Registration::add(probe.fd(), other);
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().code(), ErrorCode::kSystem);
    EXPECT_EQ(runtime_stats().registered, before + 2);
    run_reactor();
    probe.calls = other.calls = 0;
    probe.fire();
    EXPECT_TRUE(eventually([&] { return probe.calls == 1; })) << "the first one stays";
    EXPECT_EQ(other.calls, 0);
}

}  // namespace
}  // namespace weir::io
