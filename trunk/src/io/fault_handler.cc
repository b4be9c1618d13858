#include "io/fault_handler.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <execinfo.h>
#include <time.h>
#include <ucontext.h>

#include "base/build.h"
#include "io/crash_report.h"
#include "io/log_writer.h"
#include "io/scheduler.h"
#include "io/stacks.h"

// Only async-signal-safe calls below, and backtrace(), which is one in practice when its library
// was loaded before: the first line is out before it is tried.

namespace weir::io {
namespace {

constexpr int kMaxFrames = 64;
constexpr size_t kReportBytes = 16 * 1024;
constexpr size_t kPieceBytes = 4096;  // of write_bounded()
constexpr Millis kRoomForLines{200};  // for a slow reader of stderr or the log, for each piece
constexpr Millis kDrain{300};         // for what was logged before
constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};

struct sigaction& previous_action(int number) {
    static std::array<struct sigaction, NSIG> actions{};
    return actions[static_cast<size_t>(number)];
}

void write_text(int fd, std::string_view text) {
    while (!text.empty()) {
        const size_t size = std::min(text.size(), kPieceBytes);
        LogWriter::write_bounded(fd, text.data(), size, kRoomForLines);
        text.remove_prefix(size);
    }
}

// One report per process, its text in static memory: signal stacks are small.
SafeText& report() {
    static std::array<char, kReportBytes> memory;
    static SafeText text(memory);
    return text;
}

void say_overflow(const Stack& stack) {
    std::array<char, 200> memory;
    SafeText text(memory);
    text.add("weir: stack overflow in coroutine ").add(stack.owner).add(" (stack of ");
    text.add_decimal(stack.size / 1024).add(" KiB)\n");
    write_text(STDERR_FILENO, text.text());
}

uint64_t faulting_instruction(const void* context) {
    const auto* state = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
    return static_cast<uint64_t>(state->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return state->uc_mcontext.pc;
#else
    (void)state;
    return 0;
#endif
}

// From the faulting instruction on: what lies above is this handler. Behind a call comes the
// return address, which may be of the next line already: one byte before it is within the call.
std::span<void*> frames_of(const void* context) {
    static std::array<void*, kMaxFrames> frames;
    const int count = backtrace(frames.data(), kMaxFrames);
    auto all = std::span(frames).first(static_cast<size_t>(std::max(count, 0)));
    const auto fault = std::ranges::find(all, faulting_instruction(context), [](const void* frame) {
        return reinterpret_cast<uint64_t>(frame);
    });
    if (fault != all.end()) {
        all = all.subspan(static_cast<size_t>(fault - all.begin()));
    }
    for (size_t i = 1; i < all.size(); i++) {
        all[i] = static_cast<char*>(all[i]) - 1;
    }
    return all;
}

void report_crash(int number, const siginfo_t& info, const void* context) {
    const RunningView running = running_now();
    std::array<char, 17> thread{};
    prctl(PR_GET_NAME, thread.data());
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    CrashFacts facts;
    facts.signal = number;
    facts.has_address = info.si_code > 0 && number != SIGABRT;
    facts.address = facts.has_address ? reinterpret_cast<uint64_t>(info.si_addr) : 0;
    facts.thread = thread.data();
    facts.coroutine = running.name;
    facts.client = running.client;
    facts.unix_seconds = now.tv_sec;
    facts.milliseconds = now.tv_nsec / 1'000'000;

    LogWriter::drain_for_crash(kDrain);
    const LogWriter::CrashTarget log = LogWriter::crash_target();
    const bool log_is_stderr = log.fd < 0 || log.fd == STDERR_FILENO;
    const bool as_text = !log_is_stderr || !log.json;  // to stderr
    SafeText& out = report();
    write_crash_line(out, facts);
    if (as_text) {
        write_text(STDERR_FILENO, out.text());
    }
    const size_t begin = out.text().size();
    const std::span<void*> frames = frames_of(context);
    for (size_t i = 0; i < frames.size(); i++) {
        write_crash_frame(out, i, frames[i]);
    }
    if (as_text) {
        out.add("  lines of the program: addr2line -Cfipe FILE OFFSET ...\n");
        write_text(STDERR_FILENO, out.text().substr(begin));
    }
    if (log_is_stderr && as_text) {
        return;
    }
    if (log.json) {
        out.clear();
        write_crash_json(out, facts, frames);
    }
    write_text(log_is_stderr ? STDERR_FILENO : log.fd, out.text());
}

void on_fault(int number, siginfo_t* info, void* context) {
    static std::atomic<bool> entered{false};
    if (!entered.exchange(true)) {
        if (const Stack* stack = number == SIGSEGV ? stack_guarded_at(info->si_addr) : nullptr) {
            say_overflow(*stack);
        }
        if constexpr (WEIR_ASAN == 0) {
            report_crash(number, *info, context);
        }
    }
    // The faulting instruction runs again and meets whatever was installed before us: a core file,
    // or a sanitizer. What another process or abort() sent does not come again by itself.
    sigaction(number, &previous_action(number), nullptr);
    if (info->si_code <= 0) {
        raise(number);
    }
}

Error install_alternate_stack() {
    stack_t current{};
    sigaltstack(nullptr, &current);
    if ((current.ss_flags & SS_DISABLE) == 0) {
        return {};
    }
    constexpr size_t kSignalStack = 64 * 1024;
    static std::array<char, kSignalStack> memory;
    stack_t alternate{};
    alternate.ss_sp = memory.data();
    alternate.ss_size = memory.size();
    if (sigaltstack(&alternate, nullptr) != 0) {
        return Error::from_errno(errno, "sigaltstack");
    }
    return {};
}

}  // namespace

Error install_fault_handler() {
    WEIR_TRY(install_alternate_stack());
    note_program();
    std::array<void*, 1> loaded{};
    (void)backtrace(loaded.data(), 1);  // the first call loads a library, which a handler must not
    for (const int number : kSignals) {
        if (WEIR_ASAN != 0 && number != SIGSEGV) {
            continue;
        }

        struct sigaction action {};

        action.sa_sigaction = &on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        if (sigaction(number, &action, &previous_action(number)) != 0) {
            return Error::from_errno(errno, "sigaction");
        }
    }
    return {};
}

}  // namespace weir::io
