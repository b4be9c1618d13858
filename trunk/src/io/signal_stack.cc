#include "io/signal_stack.h"

#include <signal.h>
#include <sys/mman.h>

namespace weir::io {

SignalStack::SignalStack() {
    stack_t current{};
    if (sigaltstack(nullptr, &current) != 0 || (current.ss_flags & SS_DISABLE) == 0) {
        return;
    }
    void* memory =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return;
    }
    stack_t own{};
    own.ss_sp = memory;
    own.ss_size = kBytes;
    if (sigaltstack(&own, nullptr) != 0) {
        ::munmap(memory, kBytes);
        return;
    }
    memory_ = memory;
}

SignalStack::~SignalStack() {
    if (memory_ != nullptr) {
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        (void)sigaltstack(&none, nullptr);
        ::munmap(memory_, kBytes);
    }
}

}  // namespace weir::io
