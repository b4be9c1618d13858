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

class Deadline;

// Few sizes only: libst keeps ended stacks in a first-fit list.
enum class StackSize : uint8_t {
    kNormal,  // 64 KiB: connections, pumps, timers
    kLarge,   // 256 KiB: start-up, configuration, code of third parties
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

// Asserts in debug builds that no switch happens while it lives.
class NoYield {
  public:
    NoYield();
    ~NoYield();
    NoYield(const NoYield&) = delete;
    NoYield& operator=(const NoYield&) = delete;
};

}  // namespace weir::io
