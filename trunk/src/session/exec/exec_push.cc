#include "session/exec/exec_push.h"

#include <csignal>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "io/deadline.h"
#include "net/source/source_spec.h"

namespace weir::session {
namespace {

constexpr size_t kMaxShown = 300;  // bytes of a line

// Its output: into the log, so many lines a second, and the last one for the error.
class Output {
  public:
    explicit Output(std::string name) : name_(std::move(name)) {}

    void take(std::string_view line) {
        last_ = log::escaped(line, kMaxShown);
        const MonoTime now = MonoClock::now();
        if (now - second_ >= Seconds(1)) {
            tell_swallowed();
            second_ = now;
            lines_ = 0;
        }
        if (lines_ == ExecPush::kLinesPerSecond) {
            swallowed_++;
            return;
        }
        lines_++;
        log::info("{}: {}", name_, last_);
    }

    void tell_swallowed() {
        if (swallowed_ > 0) {
            log::info("{}: {} more lines were not logged", name_, swallowed_);
            swallowed_ = 0;
        }
    }

    const std::string& last() const { return last_; }

  private:
    std::string name_;
    std::string last_;
    MonoTime second_{};
    size_t lines_ = 0;
    uint64_t swallowed_ = 0;
};

}  // namespace

std::vector<std::string> environment_of_programs() {
    std::vector<std::string> out;
    for (const char* const name :
         {"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH"}) {
        if (const char* const value = std::getenv(name)) {
            out.push_back(fmt::format("{}={}", name, value));
        }
    }
    return out;
}

// Yields. The stream has gone, or the server stops, perhaps while this waits.
void ExecPush::end(io::Process& process) const {
    constexpr Millis kLook{50};
    process.send_signal(SIGTERM);
    const MonoTime asked = MonoClock::now();
    while (process.running() &&
           MonoClock::now() - asked < (hurried_ ? kHurriedFarewell : kFarewell)) {
        (void)process.wait_even_interrupted(io::Deadline::after(kLook));
    }
    process.send_signal(SIGKILL);
    (void)process.wait_even_interrupted(io::Deadline::after(kHurriedFarewell));
}

Error ExecPush::run(net::SourceRun& run) {
    if (running_ == kMaxPrograms) {
        return make_error(ErrorCode::kFull, "{} programs of exec_push run already", running_);
    }

    struct Count {
        explicit Count(size_t& of) : running(of) { running++; }

        ~Count() { running--; }

        Count(const Count&) = delete;
        Count& operator=(const Count&) = delete;

        size_t& running;
    };

    const Count count(running_);
    const std::vector<std::string>& words = run.spec().command;
    WEIR_CHECK(!words.empty() && workers_ != nullptr);
    Output output(words[0]);
    io::ProcessOptions options{words, environment_of_programs(),
                               [&output](std::string_view line) { output.take(line); }};
    WEIR_TRY_ASSIGN(const std::unique_ptr<io::Process> process,
                    io::Process::start(std::move(options), *workers_));
    run.connected();
    Error woken = process->wait(io::Deadline::after(kSettled));
    if (woken.code() == ErrorCode::kTimeout) {
        run.live();
        woken = process->wait(io::Deadline::forever());  // its end, or that of the stream
    }
    if (woken) {
        end(*process);
    }
    output.tell_swallowed();
    return make_error(ErrorCode::kClosed, "{} {}{}{}", words[0], process->describe_end(),
                      output.last().empty() ? "" : ": ", output.last());
}

}  // namespace weir::session
