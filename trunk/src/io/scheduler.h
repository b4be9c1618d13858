// Private to io/: coroutines on libst threads, and the one way in which all of io/ waits, park()
// and wake().
//
// A Worker is a libst thread with its stack; a CoroutineState is one spawned body. A worker whose
// body has returned is kept warm for the next spawn, last in first out and few of them; the others
// end, and their stack memory is given back. libst is only asked to switch stacks and to keep
// timers; its own I/O, interrupts and joins are not used.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/object_count.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/signal.h"

namespace weir::io {

struct Worker;

// What a coroutine is to others. Shared by its handle and the worker that runs it.
class CoroutineState {
  public:
    CoroutineState(const char* name, StackSize stack, std::function<void()> body)
        : name_(name), stack_(stack), body_(std::move(body)) {}

    const char* name() const { return name_; }

    StackSize stack() const { return stack_; }

    bool ended() const { return ended_; }

    bool interrupted() const { return interrupted_; }

    // Sticky; wakes the coroutine if it waits.
    void interrupt();

    // Ends its park(). No effect on a coroutine that is not parked. Never yields.
    void wake();

    void set_log_id(std::string_view id);

    std::string_view log_id() const { return log_id_; }

    Signal& on_end() { return on_end_; }

    // Called once, right after the body has returned and its captures are gone.
    void set_end_hook(std::function<void(CoroutineState&)> hook) { end_hook_ = std::move(hook); }

    // Fairness of I/O that never has to wait: counts a call, true when it is time to yield. What is
    // done with the bytes between two calls counts too: a peer can make one read cost milliseconds.
    bool spend_io_budget();

    // For a debugger (scripts/gdb/weir.py): what the next switch away waits for. `what` is a
    // literal, `fd` a descriptor or -1. Part of every wait in every build: three stores.
    void note_wait(const char* what, int fd, Deadline deadline) {
        waits_for_ = what;
        waits_fd_ = fd;
        waits_until_ = deadline.time();
    }

  private:
    friend struct Worker;
    friend class Scheduler;

    static constexpr size_t kMaxLogId = 15;
    static constexpr uint32_t kIoCallsPerSlice = 64;
    static constexpr Micros kSlice{1'000};

    void run() noexcept;

    const char* name_;
    StackSize stack_;
    bool ended_ = false;
    bool interrupted_ = false;
    uint32_t io_calls_ = 0;
    MonoTime slice_start_{};    // of the first counted call
    Worker* worker_ = nullptr;  // while it runs
    // What the last wait is or was for; and all coroutines that have not ended, newest first.
    // Only scripts/gdb/weir.py reads these.
    const char* waits_for_ = "";
    int waits_fd_ = -1;
    MonoTime waits_until_{};
    CoroutineState* newer_ = nullptr;
    CoroutineState* older_ = nullptr;
    char log_id_[kMaxLogId + 1] = "";
    std::function<void()> body_;
    std::function<void(CoroutineState&)> end_hook_;
    Signal on_end_;
    std::shared_ptr<CoroutineState> starting_;  // itself, from spawn until a worker takes it over
};

// Starts libst and makes the caller the first coroutine.
Error start_scheduler();

// Hands the body to a warm worker or a new one. kSystem when no stack can be had.
Error spawn_state(const std::shared_ptr<CoroutineState>& state);

// The running coroutine; the runtime must be up, media thread only.
CoroutineState& current();

// What runs, for a signal handler; empty outside of coroutines. Async-signal-safe.
struct RunningView {
    std::string_view name;  // both live as long as the coroutine
    std::string_view client;
};

RunningView running_now();

// The function in which every coroutine but "main" begins. Async-signal-safe.
const void* coroutine_root();

// True on the thread that called start_scheduler().
bool on_media_thread();

enum class Wake : uint8_t { kWoken, kTimeout };

// Yields. Until wake() or the deadline, rounded up to whole milliseconds. Wake-ups may be spurious:
// wait in a loop. A passed deadline gives kTimeout without a switch. An interrupt wakes, too;
// looking at interrupted() is the caller's part. `what` and `fd`: see CoroutineState::note_wait().
Wake park(Deadline deadline, const char* what, int fd = -1);

Error interrupted_error();

struct SchedulerCounts {
    uint64_t live = 0;
    uint64_t created = 0;
};

SchedulerCounts scheduler_counts();

// What was started so far belongs to the runtime itself and is not counted.
void reset_scheduler_counts();

}  // namespace weir::io
