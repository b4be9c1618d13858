#include "session/exec/exec_push.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "base/redact.h"
#include "base/strings.h"
#include "io/deadline.h"
#include "net/source/source_spec.h"

namespace weir::session {
namespace {

constexpr size_t kMaxShown = 300;       // bytes of a line
constexpr size_t kLeastHidden = 8;      // bytes: shorter ones are parts of other words
constexpr size_t kMaxLine = 16U << 10;  // bytes that are looked at

// Its output: into the log, so many lines a second, and the last one for the error.
class Output {
  public:
    // Both must outlive this.
    Output(const std::vector<std::string>& words, std::string_view stream)
        : words_(words), stream_(stream), name_(words[0]) {}

    void take(std::string_view line) {
        last_ = log::escaped(without_arguments(line, words_, stream_), kMaxShown);
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
    const std::vector<std::string>& words_;
    std::string_view stream_;
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

std::string without_arguments(std::string_view line,
                              const std::vector<std::string>& words,
                              std::string_view stream) {
    std::vector<std::pair<std::string, std::string>> hidden;  // what, and what stands there instead
    for (size_t i = 1; i < words.size(); i++) {
        const std::string& word = words[i];
        if (!word.starts_with('-')) {
            hidden.emplace_back(word, fmt::format("(argument {})", i));
        }
        for (std::string& secret : secrets_of_argument(word)) {
            if (secret != stream) {
                hidden.emplace_back(std::move(secret), "***");
            }
        }
    }
    // The longest first: a URL goes as a whole.
    std::ranges::stable_sort(hidden, std::ranges::greater(),
                             [](const auto& each) { return each.first.size(); });
    std::string out(line.substr(0, kMaxLine));
    for (const auto& [what, instead] : hidden) {
        if (what.size() >= kLeastHidden) {
            out = replaced(std::move(out), what, instead);
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
    Output output(words, run.spec().key.name);
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
