// Private to io/: the stack on which a thread's handler of a crash runs.
//
// Without one, the overflow of a thread's stack kills the process without a report. One at the
// begin of every thread, alive as long as the thread's own work. A sanitizer's own is left in
// place.
#pragma once

#include <cstddef>

namespace weir::io {

class SignalStack {
  public:
    SignalStack();
    ~SignalStack();
    SignalStack(const SignalStack&) = delete;
    SignalStack& operator=(const SignalStack&) = delete;

    // The thread keeps it until it ends.
    void leave() { memory_ = nullptr; }

  private:
    static constexpr size_t kBytes = size_t{64} * 1024;  // address space; a handler touches little

    void* memory_ = nullptr;  // nullptr: the thread has one, or there was no memory
};

}  // namespace weir::io
