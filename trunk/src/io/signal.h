// Signal: what a coroutine waits for until another one notifies it. For the media thread only.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace weir::io {

class Deadline;

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

}  // namespace weir::io
