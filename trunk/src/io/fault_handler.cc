#include "io/fault_handler.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <signal.h>
#include <unistd.h>

#include "base/build.h"
#include "io/stacks.h"

#if WEIR_GMD
#include <execinfo.h>
#endif

namespace weir::io {
namespace {

struct sigaction& previous_action() {
    static struct sigaction action {};

    return action;
}

void print(const char* text) {
    (void)!write(STDERR_FILENO, text, std::strlen(text));
}

#if WEIR_GMD

// The allocator of --gmd=on finds a corruption and stops; this says where. The stack is that of the
// fault: "FILE(+0xOFFSET)", which `addr2line -Cfie FILE 0xOFFSET` turns into names.
void print_backtrace() {
    constexpr int kFrames = 32;
    static std::array<void*, kFrames> frames;
    print("weir: stack of the corruption, for addr2line -Cfie FILE OFFSET:\n");
    backtrace_symbols_fd(frames.data(), backtrace(frames.data(), kFrames), STDERR_FILENO);
}

#else

void print_backtrace() {}

#endif

// Only async-signal-safe calls: the fault was in a coroutine, never while the stack registry
// changes.
void on_fault(int number, siginfo_t* info, void*) {
    const Stack* stack = number == SIGSEGV ? stack_guarded_at(info->si_addr) : nullptr;
    if (stack != nullptr) {
        std::array<char, 24> size_text{};
        size_t at = size_text.size() - 1;
        for (size_t kib = stack->size / 1024; kib > 0 && at > 0; kib /= 10) {
            size_text[--at] = static_cast<char>('0' + kib % 10);
        }
        print("weir: stack overflow in coroutine ");
        print(stack->owner);
        print(" (stack of ");
        print(&size_text[at]);
        print(" KiB)\n");
    }
    print_backtrace();
    // The faulting instruction runs again and meets whatever was installed before us: a core file,
    // or a sanitizer.
    sigaction(number, &previous_action(), nullptr);
}

}  // namespace

Error install_fault_handler() {
    stack_t current{};
    sigaltstack(nullptr, &current);
    if ((current.ss_flags & SS_DISABLE) != 0) {
        constexpr size_t kSignalStack = 64 * 1024;
        static std::array<char, kSignalStack> memory;
        stack_t alternate{};
        alternate.ss_sp = memory.data();
        alternate.ss_size = memory.size();
        if (sigaltstack(&alternate, nullptr) != 0) {
            return Error::from_errno(errno, "sigaltstack");
        }
    }

    struct sigaction action {};

    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGSEGV, &action, &previous_action()) != 0) {
        return Error::from_errno(errno, "sigaction");
    }
#if WEIR_GMD
    std::array<void*, 1> loaded{};
    (void)backtrace(loaded.data(), 1);  // the first call loads a library, which a handler must not
    if (sigaction(SIGABRT, &action, nullptr) != 0) {
        return Error::from_errno(errno, "sigaction");
    }
#endif
    return {};
}

}  // namespace weir::io
