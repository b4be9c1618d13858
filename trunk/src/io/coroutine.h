// Coroutines: owned, joinable, interruptible. Never detached.
//
// All functions here are for the media thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

namespace weir::io {

// Few sizes only: libst keeps ended stacks in a first-fit list.
enum class StackSize : uint8_t {
    kNormal,  // 64 KiB: connections, pumps, timers
    kLarge,   // 256 KiB: start-up, configuration, code of third parties
};

// An absolute point in time that a wait ends at. There is no infinite one: the longest is kForever,
// 10 years.
class Deadline {
  public:
    static Deadline after(Micros delay) { return Deadline(MonoClock::now() + delay); }

    static Deadline at(MonoTime time) { return Deadline(time); }

    // For waits that another owner ends (by an interrupt); say which one at the call.
    static Deadline forever() { return Deadline(MonoClock::now() + std::chrono::hours(24 * 3650)); }

    MonoTime time() const { return time_; }

    bool passed() const { return MonoClock::now() >= time_; }

  private:
    explicit Deadline(MonoTime time) : time_(time) {}

    MonoTime time_;
};

class CoroutineState;  // private to io/

// Handle of one coroutine. The destructor checks that it has ended: interrupt(), join(), then
// destroy.
class Coroutine {
  public:
    Coroutine();
    ~Coroutine();
    Coroutine(Coroutine&&) noexcept;
    Coroutine& operator=(Coroutine&&) noexcept;

    // `name` must be a literal. The body starts at the next yield of the caller. Fails (kSystem)
    // when no stack can be had.
    static Result<Coroutine> spawn(const char* name, StackSize stack, std::function<void()> body);

    // Asks it to stop: its current (or next) wait, and every wait after that, returns kInterrupted.
    void interrupt();

    bool running() const;

    // Yields. Until the body has returned. Must not be called by the coroutine itself.
    void join();

  private:
    std::shared_ptr<CoroutineState>
        state_;  // shared with the running body, which may outlive the handle's move
};

// Owns any number of coroutines that come and go (one per connection). Ended ones are reaped at
// once.
class TaskGroup {
  public:
    TaskGroup();
    ~TaskGroup();  // checks that it is empty
    TaskGroup(const TaskGroup&) = delete;
    TaskGroup& operator=(const TaskGroup&) = delete;

    Error spawn(const char* name, StackSize stack, std::function<void()> body);

    size_t size() const;

    void interrupt_all();

    // Yields. Until all have ended or the deadline passed (kTimeout).
    Error join_all(Deadline deadline);

  private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

// Yields. Sleeps until the deadline; kInterrupted when asked to stop. Whole milliseconds, rounded
// up.
Error sleep_until(Deadline deadline);
Error sleep_for(Millis delay);

// Yields. Lets the reactor and the other ready coroutines run once.
void yield();

// True when the calling coroutine was asked to stop.
bool interrupted();

// Client id of the calling coroutine for log lines (at most 15 characters); children inherit it.
void set_log_id(std::string_view id);
std::string_view log_id();

// The condition-variable of this runtime: one waiter (or several) parked until notified.
// Spurious wake-ups are possible: wait in a loop on the real condition.
class Signal {
  public:
    Signal();
    ~Signal();  // checks that no coroutine waits
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;

    void notify_one();
    void notify_all();

    bool has_waiters() const { return waiters_ > 0; }

    // Yields. kTimeout, kInterrupted, or success when notified. `what`, a literal, and `fd`: what a
    // debugger shows that is waited for (scripts/gdb/weir.py).
    Error wait_until(Deadline deadline, const char* what = "a signal", int fd = -1);

    // Yields. For what must be waited for even by a coroutine that was asked to stop. kTimeout, or
    // success when notified.
    Error wait_even_interrupted(Deadline deadline);

  private:
    struct Waiter;

    Error wait(Deadline deadline, bool interruptible, const char* what, int fd);
    void unlink(Waiter& waiter);

    Waiter* first_ = nullptr;  // on the waiting coroutines' stacks, longest waiting first
    Waiter* last_ = nullptr;
    uint32_t waiters_ = 0;
};

// Asserts in debug builds that no switch happens while it lives.
class NoYield {
  public:
    NoYield();
    ~NoYield();
    NoYield(const NoYield&) = delete;
    NoYield& operator=(const NoYield&) = delete;
};

}  // namespace weir::io
