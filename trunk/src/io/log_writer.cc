#include "io/log_writer.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <pthread.h>

#include "base/line_ring.h"
#include "base/log.h"
#include "base/log_json.h"
#include "base/safe_open.h"
#include "io/signal_stack.h"
#include "io/signals_blocked.h"

namespace weir::io {
namespace {

constexpr size_t kBatchBytes = 64 * 1024;
constexpr size_t kPipeBytes = 4096;  // PIPE_BUF: when poll() sees room, so much never blocks
constexpr mode_t kFileMode = 0640;
constexpr Millis kThreadEnd{100};  // for a thread that is not stuck to see that it shall end

std::string_view text_of(int error_number) {
    const char* text = strerrordesc_np(error_number);
    return text != nullptr ? text : "unknown error";
}

std::string shown(const std::string& path) {
    return log::escaped(path, 500);
}

Result<int> open_log(const std::string& path) {
    struct stat facts {};

    const bool fifo = ::stat(path.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode);
    // A FIFO opened for both needs no reader to be opened, and none to come back after it left.
    const int access = fifo ? O_RDWR : O_WRONLY;
    const int fd = open_to_write(path, access | O_APPEND | O_NOCTTY | O_NONBLOCK, kFileMode);
    if (fd < 0) {
        const int why = errno;
        return make_error(ErrorCode::kSystem, "log_file {} cannot be opened: {}; {}", shown(path),
                          text_of(why), why_not_opened(why));
    }
    return fd;
}

bool is_regular(int fd) {
    struct stat facts {};

    return ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
}

}  // namespace

struct LogWriter::State {
    State() : ring(kQueueBytes) {}

    ~State() {
        close_file();
        if (wake_fd >= 0) {
            ::close(wake_fd);
        }
    }

    State(const State&) = delete;
    State& operator=(const State&) = delete;

    // ---- any thread ----

    void take(log::Level level, std::string_view line);
    bool flush(Millis most);
    LogStats stats() const;

    void wake() const {
        const uint64_t one = 1;
        (void)!write(wake_fd, &one, sizeof one);  // cannot fail: the counter is far from its limit
    }

    // ---- the thread ----

    void run();
    void obey();
    void switch_to(const LogTarget& wanted, bool even_if_same);
    void fill();
    void append(std::string_view line);
    void say(log::Level level, std::string_view text);
    void wait_for_lines();
    void write_some();
    void failed(int error_number);
    void wait_for(int descriptor, Millis most) const;
    void close_file();

    LineRing ring;
    int wake_fd = -1;
    std::thread thread;

    std::mutex producers;
    bool dropping = false;  // guarded by producers

    std::mutex orders;  // guards the next two
    LogTarget target;
    bool reopen = false;
    std::atomic<bool> ordered{false};

    std::array<std::atomic<uint64_t>, 4> lines{};
    std::atomic<uint64_t> dropped{0};
    std::atomic<uint64_t> lost{0};  // dropped and not told of yet
    std::atomic<uint64_t> pushed{0};
    std::atomic<uint64_t> done{0};
    std::atomic<uint64_t> written_bytes{0};
    std::atomic<uint64_t> write_errors{0};
    std::atomic<int> failing{0};  // errno
    std::atomic<bool> sleeping{false};
    std::atomic<bool> stopping{false};
    std::atomic<bool> ended{false};
    std::atomic<int> fd{STDERR_FILENO};
    std::atomic<bool> json{false};
    std::atomic<pid_t> thread_id{0};

    // Of the thread alone.
    std::string path;  // of fd; empty: stderr
    bool regular = false;
    std::string batch;
    size_t offset = 0;         // of what is written
    uint64_t batch_lines = 0;  // of the queue
    std::string line;
    std::string notices;  // go in front of the next batch
    MonoTime failing_since{};
};

namespace {

// The writer that is the sink: an accessor of the log, like the sink itself.
template <typename State>
std::atomic<State*>& living() {
    static std::atomic<State*> instance{nullptr};
    return instance;
}

}  // namespace

void LogWriter::State::take(log::Level level, std::string_view text) {
    const size_t important = level >= log::Level::kWarn ? 0 : ring.capacity() / 8;
    {
        const std::lock_guard lock(producers);
        if (dropping && ring.used() < ring.capacity() / 2) {
            dropping = false;
            if (const uint64_t count = lost.exchange(0); count > 0) {
                const std::string told = fmt::format(
                    "{} warn  {} lines were lost: the log could not be written as fast as they "
                    "came",
                    wall_time_text(), count);
                pushed += ring.push(static_cast<uint8_t>(log::Level::kWarn), told) ? 1U : 0U;
            }
        }
        if ((dropping && important > 0) ||
            !ring.push(static_cast<uint8_t>(level), text, important)) {
            dropping = true;
            dropped++;
            lost++;
            return;
        }
        pushed++;
        lines[static_cast<size_t>(level)]++;
    }
    if (sleeping && sleeping.exchange(false)) {
        wake();
    }
}

bool LogWriter::State::flush(Millis most) {
    const uint64_t wanted = pushed;
    const MonoTime deadline = MonoClock::now() + most;
    while (done < wanted) {
        if (MonoClock::now() >= deadline || failing != 0) {
            return done >= wanted;
        }
        (void)::poll(nullptr, 0, 1);
    }
    return true;
}

void LogWriter::State::run() {
    pthread_setname_np(pthread_self(), "weir-log");
    const SignalStack signal_stack;
    thread_id = gettid();
    while (!stopping) {
        obey();
        if (offset == batch.size()) {
            done += std::exchange(batch_lines, 0);
            fill();
        }
        if (batch.empty()) {
            wait_for_lines();
        } else {
            write_some();
        }
    }
    ended = true;
}

void LogWriter::State::obey() {
    if (!ordered.exchange(false)) {
        return;
    }
    LogTarget wanted;
    bool again = false;
    {
        const std::lock_guard lock(orders);
        wanted = target;
        again = std::exchange(reopen, false);
    }
    switch_to(wanted, again);
    if (path == wanted.path) {
        json = wanted.json;
        return;
    }
    // The old target stays, unless another one was ordered meanwhile.
    const std::lock_guard lock(orders);
    if (target == wanted) {
        target = {path, json};
    }
}

void LogWriter::State::switch_to(const LogTarget& wanted, bool even_if_same) {
    if (wanted.path == path && (!even_if_same || path.empty())) {
        if (even_if_same) {
            say(log::Level::kInfo, "the log is on stderr: there is no file to open again");
        }
        return;
    }
    int opened = STDERR_FILENO;
    if (!wanted.path.empty()) {
        Result<int> file = open_log(wanted.path);
        if (!file.ok()) {
            say(log::Level::kError,
                fmt::format("the log stays where it is: {}", file.error().message()));
            return;
        }
        opened = *file;
    }
    if (offset > 0 && offset < batch.size()) {
        // A line that is cut comes whole in the new file.
        const size_t end = batch.rfind('\n', offset - 1);
        offset = end == std::string::npos ? 0 : end + 1;
    }
    const int before = fd.exchange(opened);
    if (!path.empty()) {
        ::close(before);
    }
    path = wanted.path;
    regular = is_regular(opened);
    if (even_if_same && !path.empty()) {
        say(log::Level::kInfo, fmt::format("log reopened file={}", log::token(path, 500)));
    }
}

void LogWriter::State::close_file() {
    const int before = fd.exchange(-1);
    if (!path.empty() && before >= 0) {
        ::close(before);
    }
}

void LogWriter::State::append(std::string_view text) {
    if (json) {
        log::append_json(batch, text);
    } else {
        log::append_text(batch, text);
    }
    batch += '\n';
}

void LogWriter::State::say(log::Level level, std::string_view text) {
    notices += fmt::format("{} {:<5} {}\n", wall_time_text(), to_string(level), text);
}

void LogWriter::State::fill() {
    batch.clear();
    offset = 0;
    std::string_view told = notices;
    while (!told.empty()) {
        const size_t end = told.find('\n');
        append(told.substr(0, end));
        told.remove_prefix(end + 1);
    }
    notices.clear();
    uint8_t level = 0;
    while (batch.size() < kBatchBytes && ring.pop(level, line)) {
        append(line);
        batch_lines++;
    }
    if (ring.empty()) {
        if (const uint64_t count = lost.exchange(0); count > 0) {
            say(log::Level::kWarn,
                fmt::format("{} lines were lost: the log could not be written as fast as they came",
                            count));
        }
    }
}

void LogWriter::State::wait_for_lines() {
    sleeping = true;
    if (ring.empty() && notices.empty() && !ordered && !stopping) {
        wait_for(-1, Millis(-1));
    }
    sleeping = false;
}

// Until the descriptor takes bytes, somebody wakes the thread, or `most` (negative: for ever) has
// passed.
void LogWriter::State::wait_for(int descriptor, Millis most) const {
    std::array<pollfd, 2> each{{{wake_fd, POLLIN, 0}, {descriptor, POLLOUT, 0}}};
    (void)::poll(each.data(), each.size(), static_cast<int>(most.count()));
    if ((each[0].revents & POLLIN) != 0) {
        uint64_t count = 0;
        (void)!read(wake_fd, &count, sizeof count);
    }
}

void LogWriter::State::write_some() {
    const int to = fd;
    size_t size = batch.size() - offset;
    if (!regular) {
        // The pipe or terminal is shared with others and stays as they set it: no O_NONBLOCK.
        pollfd room{to, POLLOUT, 0};
        if (::poll(&room, 1, 0) == 0) {
            wait_for(to, kRetry);
            return;
        }
        size = std::min(size, kPipeBytes);
    }
    const ssize_t written = ::write(to, batch.data() + offset, size);
    if (written < 0) {
        failed(errno);
        return;
    }
    offset += static_cast<size_t>(written);
    written_bytes += static_cast<uint64_t>(written);
    if (const int why = failing.exchange(0); why != 0) {
        const double seconds =
            static_cast<double>((MonoClock::now() - failing_since).count()) / 1e6;
        say(log::Level::kError,
            fmt::format("the log could not be written for {:.1f} s: {}", seconds, text_of(why)));
    }
}

void LogWriter::State::failed(int error_number) {
    if (error_number == EINTR || error_number == EAGAIN) {
        return;
    }
    if (failing.exchange(error_number) == 0) {
        write_errors++;
        failing_since = MonoClock::now();
        if (!path.empty()) {
            const std::string told = fmt::format(
                "{} error log_file {} cannot be written: {}; tried again every second, "
                "lines that do not fit the queue are lost\n",
                wall_time_text(), shown(path), text_of(error_number));
            write_bounded(STDERR_FILENO, told.data(), told.size(), Millis(0));
        }
    }
    wait_for(-1, kRetry);
}

LogWriter::LogWriter(std::shared_ptr<State> state) : state_(std::move(state)) {}

LogWriter::~LogWriter() {
    stop();
}

Result<std::unique_ptr<LogWriter>> LogWriter::start(LogTarget target) {
    auto state = std::make_shared<State>();
    state->wake_fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (state->wake_fd < 0) {
        return Error::from_errno(errno, "eventfd of the log");
    }
    if (!target.path.empty()) {
        WEIR_TRY_ASSIGN(const int opened, open_log(target.path));
        state->fd = opened;
        state->path = target.path;
    }
    state->regular = is_regular(state->fd);
    state->json = target.json;
    state->target = std::move(target);
    {
        const SignalsBlocked blocked;  // inherited by the thread
        state->thread = std::thread([state] { state->run(); });
    }
    living<State>() = state.get();
    log::set_sink([](log::Level level, std::string_view line) {
        if (State* writer = living<State>()) {
            writer->take(level, line);
        }
    });
    log::set_flush_hook([](Millis most) {
        State* writer = living<State>();
        return writer == nullptr || writer->flush(most);
    });
    return std::unique_ptr<LogWriter>(
        new LogWriter(std::move(state)));  // NOLINT: private constructor
}

Error LogWriter::check(const std::string& path) {
    if (!path.empty()) {
        WEIR_TRY_ASSIGN(const int opened, open_log(path));
        ::close(opened);
    }
    return {};
}

void LogWriter::retarget(LogTarget target) {
    {
        const std::lock_guard lock(state_->orders);
        state_->target = std::move(target);
    }
    state_->ordered = true;
    state_->wake();
}

void LogWriter::reopen() {
    {
        const std::lock_guard lock(state_->orders);
        state_->reopen = true;
    }
    state_->ordered = true;
    state_->wake();
}

bool LogWriter::flush(Millis most) {
    return state_->flush(most);
}

void LogWriter::stop() {
    if (!state_->thread.joinable()) {
        return;
    }
    log::set_sink(nullptr);
    log::set_flush_hook(nullptr);
    (void)state_->flush(kFlushAtEnd);
    living<State>() = nullptr;
    state_->stopping = true;
    state_->wake();
    const MonoTime deadline = MonoClock::now() + kThreadEnd;
    while (!state_->ended && MonoClock::now() < deadline) {
        (void)::poll(nullptr, 0, 1);
    }
    if (state_->ended) {
        state_->thread.join();
    } else {
        state_->thread.detach();  // stuck in a write; it holds its own reference
    }
}

LogStats LogWriter::State::stats() const {
    LogStats now;
    for (size_t i = 0; i < now.lines.size(); i++) {
        now.lines[i] = lines[i];
    }
    now.dropped = dropped;
    now.written_bytes = written_bytes;
    now.write_errors = write_errors;
    now.queued_bytes = ring.used();
    now.queue_limit = ring.capacity();
    if (const int why = failing; why != 0) {
        now.failing = text_of(why);
    }
    return now;
}

LogStats LogWriter::stats() const {
    return state_->stats();
}

LogStats LogWriter::living_stats() {
    const State* state = living<State>();
    return state == nullptr ? LogStats{} : state->stats();
}

LogWriter::CrashTarget LogWriter::crash_target() {
    const State* state = living<State>();
    return state == nullptr ? CrashTarget{} : CrashTarget{state->fd, state->json};
}

void LogWriter::drain_for_crash(Millis most) {
    State* state = living<State>();
    if (state != nullptr && state->thread_id != gettid()) {
        state->wake();
        (void)state->flush(most);
    }
}

void LogWriter::write_bounded(int fd, const char* data, size_t size, Millis most) {
    pollfd room{fd, POLLOUT, 0};
    if (::poll(&room, 1, static_cast<int>(most.count())) == 1) {
        (void)!::write(fd, data, std::min(size, kPipeBytes));
    }
}

}  // namespace weir::io
