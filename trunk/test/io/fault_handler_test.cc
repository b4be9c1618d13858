// Crashes of child processes, with registers and stacks that lead nowhere: each has to die of its
// signal and leave a report whose stack begins at the crash.
#include "io/fault_handler.h"

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/build.h"
#include "io/resolver.h"
#include "io/signal_stack.h"
#include "io/worker_pool.h"

#include "test/support/io/loopback.h"

#if !WEIR_ASAN  // a sanitizer reports crashes itself

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): libst's assembly
extern "C" void _st_md_cxt_restore();

namespace weir::io {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// A child whose stderr is a file.
class Child {
  public:
    // The child runs `doom`, which it has begun when this returns, and, should it return, ends
    // without a signal.
    explicit Child(const std::function<void()>& doom)
        : errors_(memfd_create("errors", MFD_CLOEXEC)) {
        std::array<int, 2> begun{};
        EXPECT_EQ(pipe2(begun.data(), O_CLOEXEC), 0);
        pid_ = fork();
        if (pid_ == 0) {
            const rlimit none{0, 0};
            setrlimit(RLIMIT_CORE, &none);
            dup2(errors_, STDERR_FILENO);
            ::close(begun[0]);
            ::close(begun[1]);
            doom();
            _exit(0);
        }
        ::close(begun[1]);
        char none = 0;
        EXPECT_EQ(read(begun[0], &none, 1), 0);  // the child has closed its end
        ::close(begun[0]);
    }

    ~Child() { ::close(errors_); }

    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    pid_t pid() const { return pid_; }

    // The signal of which it died; 0: it did not.
    int wait() const {
        int status = 0;
        EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
        return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }

    std::string errors() const {
        std::string text(64 * 1024, '\0');
        const ssize_t size = pread(errors_, text.data(), text.size(), 0);
        text.resize(static_cast<size_t>(size));
        return text;
    }

  private:
    int errors_;
    pid_t pid_ = -1;
};

constexpr const char* kOwnFrame = "  #0 /[^\n]*weir-component-tests\\(\\+0x[0-9a-f]+\\)";

std::string dies_of(int signal, const std::function<void()>& doom) {
    const Child child(doom);
    EXPECT_EQ(child.wait(), signal);
    return child.errors();
}

void in_coroutine(const std::function<void()>& doom) {
    go(doom).join();
}

#if defined(__x86_64__)

[[gnu::noinline, noreturn]] void crash_with_frame_pointer(uint64_t value) {
    asm volatile("mov %0, %%rbp; ud2" ::"r"(value));
    __builtin_unreachable();
}

[[gnu::noinline, noreturn]] void crash_with_stack_pointer(uint64_t value) {
    asm volatile("mov %0, %%rsp; ud2" ::"r"(value));
    __builtin_unreachable();
}

[[gnu::noinline, noreturn]] void crash_with_both(uint64_t frame, uint64_t stack) {
    asm volatile("mov %0, %%rbp; mov %1, %%rsp; ud2" ::"r"(frame), "r"(stack));
    __builtin_unreachable();
}

// What registers may hold after anything: nothing, odd, the kernel's, no address at all, unmapped,
// the edges of what is mapped, code.
std::vector<uint64_t> bad_addresses() {
    static const auto* edge = static_cast<const char*>(
        mmap(nullptr, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(const_cast<char*>(edge) + 4096, 4096, PROT_READ | PROT_WRITE);
    const auto page = reinterpret_cast<uint64_t>(edge) + 4096;
    return {0,
            1,
            8,
            0xfff,
            0x10000,
            0x7fff'ffff'f000,
            0x8000'0000'0000,
            0x1234'5678'9abc'def1,
            0xffff'8000'0000'0000,
            UINT64_MAX - 7,
            UINT64_MAX,
            page - 8,
            page,
            page + 1,
            page + 4096 - 16,
            page + 4096 - 8,
            page + 4096 - 1,
            page + 4096,
            reinterpret_cast<uint64_t>(&crash_with_frame_pointer)};
}

TEST(CrashTest, AnyFramePointerIsSurvived) {
    for (const uint64_t value : bad_addresses()) {
        SCOPED_TRACE(fmt::format("{:#x}", value));
        const std::string text =
            dies_of(SIGILL, [&] { in_coroutine([&] { crash_with_frame_pointer(value); }); });
        EXPECT_THAT(text, HasSubstr("crashed signal=SIGILL"));
        EXPECT_THAT(text, HasSubstr("coroutine=\"test\""));
        EXPECT_THAT(text, ContainsRegex(std::string(kOwnFrame) + " [^\n]*crash_with_frame"));
        EXPECT_THAT(text, HasSubstr("lines of the program"));
    }
}

TEST(CrashTest, AnyStackPointerIsSurvived) {
    for (const uint64_t value : bad_addresses()) {
        SCOPED_TRACE(fmt::format("{:#x}", value));
        const std::string text =
            dies_of(SIGILL, [&] { in_coroutine([&] { crash_with_stack_pointer(value); }); });
        EXPECT_THAT(text, ContainsRegex(std::string(kOwnFrame) + " [^\n]*crash_with_stack"));
        const std::string both =
            dies_of(SIGILL, [&] { in_coroutine([&] { crash_with_both(value, value); }); });
        EXPECT_THAT(both, ContainsRegex(std::string(kOwnFrame) + " [^\n]*crash_with_both"));
    }
}

TEST(CrashTest, AChainOfFramesThatIsACircleEnds) {
    const std::string text = dies_of(SIGILL, [] {
        in_coroutine([] {
            std::array<uint64_t, 2> circle{};
            circle[0] = reinterpret_cast<uint64_t>(circle.data());
            circle[1] = reinterpret_cast<uint64_t>(&crash_with_frame_pointer) + 8;
            crash_with_frame_pointer(reinterpret_cast<uint64_t>(circle.data()));
        });
    });
    EXPECT_THAT(text, ContainsRegex(kOwnFrame));
    EXPECT_THAT(text, HasSubstr("lines of the program"));
}

// Fills the stack from here to its end with words that may be anything.
[[gnu::noinline]] void crash_on_spoilt_stack(unsigned seed) {
    std::minstd_rand random(seed);
    const std::vector<uint64_t> bad = bad_addresses();
    auto* at = static_cast<volatile uint64_t*>(__builtin_frame_address(0));
    for (size_t i = 0; i < 200; i++) {
        const uint64_t which = random();
        at[i] = which % 3 == 0 ? random() : bad[which % bad.size()];
    }
    asm volatile("ud2");
}

TEST(CrashTest, AnyReturnAddressIsSurvived) {
    for (unsigned seed = 0; seed < 60; seed++) {
        SCOPED_TRACE(seed);
        const std::string text = dies_of(SIGILL, [seed] {
            in_coroutine([seed] {
                std::array<char, 2048> room{};  // so that the words stay within the stack
                asm volatile("" ::"r"(room.data()) : "memory");
                crash_on_spoilt_stack(seed);
            });
        });
        EXPECT_THAT(text, ContainsRegex(std::string(kOwnFrame) + " [^\n]*crash_on_spoilt"));
        EXPECT_THAT(text, HasSubstr("lines of the program"));
    }
}

[[gnu::noinline]] void call(uint64_t address) {
    reinterpret_cast<void (*)()>(address)();
    asm volatile("");
}

TEST(CrashTest, ACallOfNothingNamesItsCaller) {
    static std::array<char, 64> data{};
    for (const uint64_t address : {uint64_t{0}, uint64_t{1}, uint64_t{0x1234'5678'9abc'def0},
                                   uint64_t{UINT64_MAX}, reinterpret_cast<uint64_t>(data.data())}) {
        SCOPED_TRACE(fmt::format("{:#x}", address));
        const std::string text = dies_of(SIGSEGV, [&] { in_coroutine([&] { call(address); }); });
        // What the processor refuses to jump to (no address at all) crashes in the caller itself.
        EXPECT_THAT(text, ContainsRegex("  #[01] /[^\n]*weir-component-tests[^\n]* [^\n]*4callEm"));
    }
}

// The machine does not stop between two instructions by itself: a debugger's single steps do.
class Stepped {
  public:
    // `what` stops itself where the steps are to begin.
    explicit Stepped(const std::function<void()>& what)
        : child_([&] {
              ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
              what();
          }) {
        int status = 0;
        waitpid(child_.pid(), &status, 0);
        stopped_ = WIFSTOPPED(status);
    }

    bool stopped() const { return stopped_; }

    void step() {
        int status = 0;
        ptrace(PTRACE_SINGLESTEP, child_.pid(), nullptr, nullptr);
        waitpid(child_.pid(), &status, 0);
        stopped_ = WIFSTOPPED(status);
    }

    uint64_t instruction() const {
        user_regs_struct registers{};
        ptrace(PTRACE_GETREGS, child_.pid(), nullptr, &registers);
        return registers.rip;
    }

    void go_on_with(int signal) const {
        ptrace(PTRACE_DETACH, child_.pid(), nullptr,
               reinterpret_cast<void*>(static_cast<uintptr_t>(signal)));
    }

    const Child& child() const { return child_; }

  private:
    Child child_;
    bool stopped_ = false;
};

void expect_report_at(const std::function<void()>& what, int steps) {
    constexpr std::array kSignals = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
    SCOPED_TRACE(steps);
    Stepped stepped(what);
    for (int i = 0; i < steps && stepped.stopped(); i++) {
        stepped.step();
    }
    ASSERT_TRUE(stepped.stopped());
    const int signal = kSignals[static_cast<size_t>(steps) % kSignals.size()];
    stepped.go_on_with(signal);
    ASSERT_EQ(stepped.child().wait(), signal);
    const std::string text = stepped.child().errors();
    ASSERT_THAT(text, ContainsRegex("  #0 [^\n]+\\(\\+0x"));
    ASSERT_THAT(text, HasSubstr("lines of the program"));
}

constexpr int kStride = 7;  // of the steps that are tried where nothing special is expected

TEST(CrashTest, AnyMomentOfASwitchIsSurvived) {
    const auto switches = [] {
        const Coroutine other = go([] {
            for (;;) {
                yield();
            }
        });
        yield();
        raise(SIGSTOP);
        for (;;) {
            yield();
        }
    };
    // Where libst changes stack and registers: every instruction there and around it.
    constexpr int kMostSteps = 5'000;
    constexpr int kSwitches = 2;  // there, and back
    constexpr int kAround = 12;
    const auto restore = reinterpret_cast<uint64_t>(&_st_md_cxt_restore);
    std::set<int> moments;
    Stepped scout(switches);
    int last = 0;
    int restores = 0;
    for (int i = 0; i < kMostSteps && restores <= kSwitches; i++, scout.step()) {
        ASSERT_TRUE(scout.stopped());
        if (scout.instruction() == restore) {
            restores++;
            last = i;
            for (int k = -kAround; k < 24 + kAround; k++) {
                moments.insert(i + k);
            }
        }
    }
    ASSERT_GT(restores, kSwitches) << "it never switched";
    scout.go_on_with(SIGKILL);
    EXPECT_EQ(scout.child().wait(), SIGKILL);
    for (int i = 0; i < last; i += kStride) {
        moments.insert(i);
    }
    for (const int steps : moments) {
        expect_report_at(switches, steps);
    }
}

// The stack is being mapped: what else maps memory meanwhile must not be taken for one.
TEST(CrashTest, AnyMomentOfASpawnIsSurvived) {
    const auto spawns = [] {
        raise(SIGSTOP);
        (void)go([] {});
        pause();
    };
    for (int steps = 0; steps < 1'000; steps += kStride) {
        expect_report_at(spawns, steps);
    }
}

#endif  // __x86_64__

// Sends and receives, and coroutines that come and go.
void serve() {
    LoopbackPair pair = loopback_pair();
    const Coroutine echo = go([&] {
        std::array<uint8_t, 100> data{};
        for (;;) {
            (void)pair.server->read_some(data, soon()).ok();
            (void)pair.server->write_all(data, soon()).code();
        }
    });
    std::array<uint8_t, 100> data{};
    for (;;) {
        go([] { yield(); }).join();
        (void)pair.client->write_all(data, soon()).code();
        (void)pair.client->read_some(data, soon()).ok();
    }
}

TEST(CrashTest, AnyMomentOfServingIsSurvived) {
    constexpr std::array kSignals = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
    std::minstd_rand random(1);
    for (int i = 0; i < 200; i++) {
        SCOPED_TRACE(i);
        const Child child(serve);
        usleep(static_cast<useconds_t>(random() % 5'000));
        const int signal = kSignals[random() % kSignals.size()];
        kill(child.pid(), signal);
        ASSERT_EQ(child.wait(), signal);
        const std::string text = child.errors();
        ASSERT_THAT(text, ContainsRegex("  #0 [^\n]+\\(\\+0x"));
        ASSERT_THAT(text, HasSubstr("lines of the program"));
    }
}

[[gnu::noinline]] int overflow(int depth) {
    std::array<volatile char, 1024> frame;
    frame[static_cast<size_t>(depth) % frame.size()] = 1;
    return depth < 0 ? 0 : overflow(depth + 1) + frame[0];
}

TEST(CrashTest, AWorkersOverflowIsReported) {
    const std::string text = dies_of(SIGSEGV, [] {
        auto pool = WorkerPool::create(1, 1);
        WEIR_CHECK(pool.ok());
        (void)(*pool)->run([] { overflow(0); });
    });
    EXPECT_THAT(text, HasSubstr("crashed signal=SIGSEGV"));
    EXPECT_THAT(text, HasSubstr("thread=weir-worker"));
    EXPECT_THAT(text, ContainsRegex(kOwnFrame));
    EXPECT_THAT(text, HasSubstr("overflow"));
}

TEST(CrashTest, AResolversOverflowIsReported) {
    const std::string text = dies_of(SIGSEGV, [] {
        ResolverOptions options;
        options.lookup = [](const std::string&) -> Result<std::vector<SocketAddress>> {
            overflow(0);
            return make_error(ErrorCode::kNotFound, "never");
        };
        Resolver resolver(options);
        (void)resolver.resolve("name.example", 1, soon());
    });
    EXPECT_THAT(text, HasSubstr("thread=weir-dns"));
    EXPECT_THAT(text, ContainsRegex(kOwnFrame));
    EXPECT_THAT(text, HasSubstr("overflow"));
}

TEST(CrashTest, ThreadsThatCrashTogetherMakeOneReport) {
    for (int i = 0; i < 20; i++) {
        SCOPED_TRACE(i);
        const Child child([] {
            std::array<std::thread, 4> threads;
            for (std::thread& thread : threads) {
                thread = std::thread([] {
                    const SignalStack signal_stack;
                    __builtin_trap();
                });
            }
            for (std::thread& thread : threads) {
                thread.join();
            }
        });
        EXPECT_THAT(child.wait(), testing::AnyOf(SIGILL, SIGTRAP));
        const std::string text = child.errors();
        const size_t first = text.find("crashed signal=");
        EXPECT_NE(first, std::string::npos);
        EXPECT_EQ(text.find("crashed signal=", first + 1), std::string::npos) << text;
        EXPECT_THAT(text, HasSubstr("lines of the program"));
    }
}

TEST(CrashTest, SignalsWhileTheReportIsMadeChangeNothing) {
    for (int i = 0; i < 20; i++) {
        const Child child([] {
            for (;;) {
                yield();
            }
        });
        kill(child.pid(), SIGFPE);
        // Of two that come at once the kernel may hand out the other one first.
        ASSERT_TRUE(eventually([&child] { return !child.errors().empty(); }));
        usleep(static_cast<useconds_t>(i) * 20);
        kill(child.pid(), SIGILL);
        kill(child.pid(), SIGSEGV);
        EXPECT_EQ(child.wait(), SIGFPE);
        EXPECT_THAT(child.errors(), HasSubstr("lines of the program"));
    }
}

}  // namespace
}  // namespace weir::io

#endif
