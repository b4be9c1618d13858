#include "io/fault_handler.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <pthread.h>
#include <time.h>

#include "base/build.h"
#include "io/crash_report.h"
#include "io/crash_stack.h"
#include "io/fault_guard.h"
#include "io/log_writer.h"
#include "io/scheduler.h"
#include "io/signal_stack.h"
#include "io/stacks.h"

// Only async-signal-safe calls below, and the unwinder of the compiler's library, which takes no
// lock and no memory. What follows pointers that the crash may have spoilt runs guarded
// (fault_guard.h), one step of the report after the other, and what a step has found is out before
// the next.

namespace weir::io {
namespace {

constexpr size_t kReportBytes = 16 * 1024;
constexpr size_t kPieceBytes = 4096;      // of write_bounded()
constexpr Millis kRoomForLines{200};      // for a slow reader of stderr or the log, for each piece
constexpr Millis kDrain{300};             // for what was logged before
constexpr Millis kLongestReport{10'000};  // another thread that crashes waits so long for its end
constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};

struct sigaction& previous_action(int number) {
    static std::array<struct sigaction, NSIG> actions{};
    return actions[static_cast<size_t>(number)];
}

// To what it was before; a signal that is ignored would not end the process.
void restore_action(int number) {
    struct sigaction before = previous_action(number);

    if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_IGN) {
        before.sa_handler = SIG_DFL;
    }
    sigaction(number, &before, nullptr);
}

void write_text(int fd, std::string_view text) {
    while (!text.empty()) {
        const size_t size = std::min(text.size(), kPieceBytes);
        LogWriter::write_bounded(fd, text.data(), size, kRoomForLines);
        text.remove_prefix(size);
    }
}

// One report per process, its text in static memory: signal stacks are small.
SafeText& report_text() {
    static std::array<char, kReportBytes> memory;
    static SafeText text(memory);
    return text;
}

// When the guard page of a coroutine's stack was hit.
void say_overflow(const void* address) {
    const Stack* stack = stack_guarded_at(address);
    if (stack == nullptr) {
        return;
    }
    std::array<char, 200> memory;
    SafeText text(memory);
    text.add("weir: stack overflow in coroutine ").add(stack->owner).add(" (stack of ");
    text.add_decimal(stack->size / 1024).add(" KiB)\n");
    write_text(STDERR_FILENO, text.text());
}

// Who ran, as far as it can be told.
void add_coroutine(CrashFacts& facts) {
    static RunningView running;
    (void)run_guarded([] { running = running_now(); });
    facts.coroutine = running.name;
    facts.client = running.client;
}

// A line for each frame, without its name where the program's file cannot be read.
void write_frames(SafeText& out, std::span<void* const> frames) {
    for (size_t i = 0; i < frames.size(); i++) {
        const size_t begin = out.text().size();
        if (!run_guarded([&out, frames, i] { write_crash_frame(out, i, frames[i]); })) {
            out.cut(begin);
            write_crash_frame(out, i, frames[i], false);
        }
    }
}

void report_crash(int number, const siginfo_t& info, void* context) {
    std::array<char, 17> thread{};
    prctl(PR_GET_NAME, thread.data());
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    CrashFacts facts;
    facts.signal = number;
    // SI_KERNEL: an address that no page can have; which one is not told.
    facts.has_address = info.si_code > 0 && info.si_code != SI_KERNEL && number != SIGABRT;
    facts.address = facts.has_address ? reinterpret_cast<uint64_t>(info.si_addr) : 0;
    facts.thread = thread.data();
    facts.unix_seconds = now.tv_sec;
    facts.milliseconds = now.tv_nsec / 1'000'000;
    add_coroutine(facts);

    (void)run_guarded([] { LogWriter::drain_for_crash(kDrain); });
    const LogWriter::CrashTarget log = LogWriter::crash_target();
    const bool log_is_stderr = log.fd < 0 || log.fd == STDERR_FILENO;
    const bool as_text = !log_is_stderr || !log.json;  // to stderr
    SafeText& out = report_text();
    write_crash_line(out, facts);
    if (as_text) {
        write_text(STDERR_FILENO, out.text());
    }
    const size_t begin = out.text().size();
    const std::span<void* const> frames = crash_stack(context);
    write_frames(out, frames);
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

void report(int number, const siginfo_t& info, void* context) {
    if (number == SIGSEGV) {
        (void)run_guarded([&info] { say_overflow(info.si_addr); });
    }
    if constexpr (WEIR_ASAN == 0) {
        report_crash(number, info, context);
    }
}

// The thread that reports; 0 before the crash.
std::atomic<pid_t>& reporter() {
    static std::atomic<pid_t> thread{0};
    return thread;
}

// A signal that somebody sent, and not what the running code did. abort() sends, too.
bool was_sent(int number, const siginfo_t& info) {
    return info.si_code <= 0 && !(number == SIGABRT && info.si_pid == getpid());
}

// While the report is made. Another process's signal changes nothing any more; another thread that
// crashes, too, waits for the end of the process; a fault of the report's own ends its step. True:
// there is none, and the process has to end now.
bool ends_in_report(int number, const siginfo_t& info) {
    if (was_sent(number, info)) {
        return false;
    }
    if (reporter() != gettid()) {
        const timespec most{kLongestReport.count() / 1000, 0};
        (void)nanosleep(&most, nullptr);  // lint: allow-block - the process ends meanwhile
        return true;
    }
    leave_guarded();
    return true;
}

void on_fault(int number, siginfo_t* info, void* context) {
    static std::atomic<int> first{SIGABRT};  // the signal of which the process shall die
    pid_t nobody = 0;
    if (!reporter().compare_exchange_strong(nobody, gettid())) {
        if (ends_in_report(number, *info)) {
            signal(first, SIG_DFL);
            raise(first);
        }
        return;
    }
    first = number;
    report(number, *info, context);
    // The faulting instruction runs again and meets whatever was installed before us: a core file,
    // or a sanitizer. What another process or abort() sent does not come again by itself: it waits,
    // blocked, until this handler returns, so that a core file shows the place of the crash.
    restore_action(number);
    if (info->si_code <= 0) {
        sigset_t own;
        sigemptyset(&own);
        sigaddset(&own, number);
        pthread_sigmask(SIG_BLOCK, &own, nullptr);
        raise(number);
    }
}

}  // namespace

Error install_fault_handler() {
    SignalStack own;
    own.leave();  // exit handlers may crash, too
    note_program();
    (void)reporter();
    (void)fault_guard();
    for (const int number : kSignals) {
        if (WEIR_ASAN != 0 && number != SIGSEGV) {
            continue;
        }

        struct sigaction action {};

        action.sa_sigaction = &on_fault;
        // Not blocked while it is handled: a fault in the report must come to the handler.
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigemptyset(&action.sa_mask);
        if (sigaction(number, &action, &previous_action(number)) != 0) {
            return Error::from_errno(errno, "sigaction");
        }
    }
    return {};
}

}  // namespace weir::io
