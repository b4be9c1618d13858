#include "io/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spawn.h>

#include "io/deadline.h"

namespace weir::io {
namespace {

constexpr int kFirstOther = 3;  // descriptor behind standard input, output and error
// What a pipe holds is 64 KiB; a program that fills it so often while it is read is out of control.
constexpr size_t kMaxBytesPerTurn = 1U << 20;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (std::string& each : texts) {
        out.push_back(each.data());
    }
    out.push_back(nullptr);
    return out;
}

// posix_spawn with what a child of a server must not have, or must.
int spawn(ProcessOptions& options, int output, pid_t& pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, kFirstOther);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    const std::vector<char*> words = pointers_to(options.words);
    const std::vector<char*> environment = pointers_to(options.environment);
    const int failed =
        ::posix_spawnp(&pid, words[0], &actions, &attributes, words.data(), environment.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

}  // namespace

Process::Watch::~Watch() {
    registration_.remove();
    ::close(fd_);
}

Error Process::Watch::begin() {
    WEIR_TRY_ASSIGN(registration_, Registration::add(fd_, *this));
    return {};
}

Result<std::unique_ptr<Process>> Process::start(ProcessOptions options, WorkerPool& workers) {
    if (options.words.empty() || options.words[0].empty()) {
        return make_error(ErrorCode::kNotFound, "no program is named");
    }
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return Error::from_errno(errno, "make a pipe");
    }
    pid_t pid = -1;
    int failed = 0;
    Error refused = workers.run([&] { failed = spawn(options, ends[1], pid); });
    ::close(ends[1]);
    if (refused || failed != 0) {
        ::close(ends[0]);
        if (refused) {
            return refused;
        }
        Error why = Error::from_errno(failed, fmt::format("start {}", options.words[0]));
        return failed == ENOENT
                   ? make_error(ErrorCode::kNotFound,
                                "there is no program {}: install it, or write its whole path",
                                options.words[0])
                   : std::move(why);
    }
    std::unique_ptr<Process> process(new Process(pid, std::move(options)));
    Process* const self = process.get();
    self->output_ = std::make_unique<Watch>(ends[0], [self] { self->read_output(); });
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (handle < 0) {
        return Error::from_errno(errno, "watch a program");
    }
    self->end_ = std::make_unique<Watch>(handle, [self] { self->take_end(); });
    WEIR_TRY(self->output_->begin());
    WEIR_TRY(self->end_->begin());
    return process;
}

Process::~Process() {
    if (!ended_) {
        send_signal(SIGKILL);
        (void)::waitpid(pid_, &status_, 0);
    }
}

Error Process::wait(Deadline deadline) {
    while (!ended_) {
        WEIR_TRY(changed_.wait_until(deadline, "a program"));
    }
    return {};
}

Error Process::wait_even_interrupted(Deadline deadline) {
    while (!ended_) {
        WEIR_TRY(changed_.wait_even_interrupted(deadline));
    }
    return {};
}

void Process::send_signal(int number) {
    if (!ended_) {
        (void)::kill(-pid_, number);
    }
}

void Process::read_output() {
    std::array<uint8_t, 2048> room;
    for (size_t total = 0; total < kMaxBytesPerTurn;) {
        const ssize_t got = ::read(output_->fd(), room.data(), room.size());
        if (got <= 0) {
            return;  // the end is told by end_; descendants may still hold the pipe
        }
        total += static_cast<size_t>(got);
        take_output(ByteSpan(room).first(static_cast<size_t>(got)));
    }
    take_output(as_bytes("\nwrites more than can be read, and is ended\n"));
    send_signal(SIGKILL);
}

void Process::take_output(ByteSpan bytes) {
    for (const char c : as_text(bytes)) {
        const bool ends = c == '\n' || c == '\r';
        if (!ends && line_.size() < kMaxLine) {
            line_.push_back(c);
        } else if (ends && !line_.empty()) {
            if (options_.on_line) {
                options_.on_line(line_);
            }
            line_.clear();
        }
    }
}

void Process::take_end() {
    siginfo_t info{};
    if (ended_ ||
        ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != pid_) {
        return;
    }
    // What it has started goes with it. Until it is reaped nobody else has the number of its group.
    (void)::kill(-pid_, SIGKILL);
    (void)::waitpid(pid_, &status_, 0);
    read_output();  // its last words
    take_output(as_bytes("\n"));
    ended_ = true;
    changed_.notify_all();
}

bool Process::succeeded() const {
    return ended_ && WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
}

std::string Process::describe_end() const {
    return WIFSIGNALED(status_) ? fmt::format("was ended by signal {}", WTERMSIG(status_))
                                : fmt::format("exited with {}", WEXITSTATUS(status_));
}

}  // namespace weir::io
