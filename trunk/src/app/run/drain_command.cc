#include "app/run/drain_command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>

#include "app/api/proc_files.h"
#include "app/run/drain.h"
#include "base/strings.h"
#include "config/config.h"
#include "config/include.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/resolver.h"
#include "io/runtime.h"
#include "net/http/client.h"
#include "proto/http/request.h"
#include "proto/http/response_parser.h"

namespace weir::app {
namespace {

constexpr uint64_t kMaxPid = 4'194'304;  // PID_MAX_LIMIT of Linux
constexpr Millis kAnswerTime{1'000};     // for the server to say who remains
constexpr size_t kMaxAnswer = 1'000;     // of which no more is printed
constexpr pid_t kContainer = 1;          // what a container runs has this number there

template <typename... Args>
int fail(int code, fmt::format_string<Args...> text, Args&&... args) {
    fmt::print(stderr, "weir: {}\n", fmt::format(text, std::forward<Args>(args)...));
    return code;
}

std::optional<ProcessStat> look_at(pid_t pid) {
    Result<ProcessStat> seen =
        parse_process(read_proc_file(fmt::format("/proc/{}/stat", pid).c_str()));
    // A process that has ended stays until its parent has asked for it.
    if (!seen.ok() || seen->state == 'Z' || seen->state == 'X') {
        return std::nullopt;
    }
    return std::move(*seen);
}

bool is_server(const ProcessStat& process) {
    const std::optional<ProcessStat> own = look_at(getpid());
    return process.name == "weir" || (own && process.name == own->name);
}

// The pid that the configuration leads to. kNotFound: it names none, or the file has none.
Result<pid_t> configured_pid(const config::Config& config) {
    if (config.pid.empty()) {
        if (const auto first = look_at(kContainer); first && is_server(*first)) {
            return kContainer;
        }
        return make_error(ErrorCode::kMalformed,
                          "{} has no directive pid, so name the process: weir --drain PID",
                          config.file);
    }
    Result<std::string> text = config::real_disk().read(config.pid);
    if (!text.ok()) {
        return make_error(ErrorCode::kNotFound, "no server runs with {}: {}: {}", config.file,
                          config.pid, text.error().message());
    }
    const auto pid = parse_uint(trim(*text), 1, kMaxPid);
    if (!pid) {
        return make_error(ErrorCode::kNotFound, "no server runs with {}: {} holds no process id",
                          config.file, config.pid);
    }
    return static_cast<pid_t>(*pid);
}

// Where the server says who remains, without TLS; empty: nowhere.
std::string ready_url(const config::Config& config) {
    if (!config.http_api.enabled) {
        return {};
    }
    for (const config::ListenAddress& each : config.http_api.listen) {
        const auto address = NetAddress::parse(each.address);
        if (address && !each.ssl && !each.proxy_protocol) {
            const bool any = address->is_any();
            return fmt::format("http://{}/readyz",
                               any ? fmt::format("127.0.0.1:{}", address->port()) : each.address);
        }
    }
    return {};
}

// Asks the server, and prints what it says if it is this one.
class Reporter {
  public:
    explicit Reporter(std::string url) : url_(std::move(url)) {}

    // Yields, for kAnswerTime at most.
    void report(pid_t pid) {
        Result<http::Url> url = http::Url::parse(url_);
        if (url_.empty() || !url.ok()) {
            return;
        }
        const Result<http::Response> answer =
            client_.exchange(http::Method::kGet, *url, {}, {}, io::Deadline::after(kAnswerTime));
        const std::string_view line = answer.ok() ? trim(answer->body) : std::string_view();
        const std::string mark = fmt::format(" pid={}", pid);
        if (line.size() < kMaxAnswer && line.ends_with(mark)) {
            fmt::print("weir: {}\n", line);
            std::fflush(stdout);
        }
    }

  private:
    std::string url_;
    io::Resolver resolver_;
    net::HttpClient client_{resolver_};
};

int wait_for_end(pid_t pid, const ProcessStat& process, Seconds timeout, std::string url) {
    if (Error failed = io::init_runtime()) {
        return fail(kDrainUnclear, "{}", failed.message());
    }
    Reporter reporter(std::move(url));
    const MonoTime begin = MonoClock::now();
    MonoTime next_report = begin + Millis(1'000);
    for (;;) {
        const std::optional<ProcessStat> now = look_at(pid);
        if (!now || now->start_ticks != process.start_ticks) {
            fmt::print("weir: process {} has ended\n", pid);
            return 0;
        }
        const MonoTime time = MonoClock::now();
        if (time - begin >= timeout) {
            return fail(kDrainGoesOn, "process {} still drains after {} s", pid, timeout.count());
        }
        if (time >= next_report) {
            next_report = time + Drain::kReportPeriod;
            reporter.report(pid);
        }
        (void)io::sleep_for(Drain::kLook);
    }
}

}  // namespace

Result<DrainRequest> parse_drain(std::span<char* const> words, std::string config_file) {
    DrainRequest request{.config_file = std::move(config_file)};
    for (size_t i = 0; i < words.size(); i++) {
        const std::string_view word = words[i];
        const bool takes_value = word == "-c" || word == "--timeout";
        if (takes_value && i + 1 == words.size()) {
            return make_error(ErrorCode::kMalformed, "{} needs a {}", word,
                              word == "-c" ? "file name" : "number of seconds");
        }
        if (word == "-c") {
            request.config_file = words[++i];
        } else if (word == "--timeout") {
            const auto seconds = parse_uint(words[++i], 0, kMaxDrainSeconds);
            if (!seconds) {
                return make_error(ErrorCode::kMalformed, "--timeout needs seconds, 0 to {}",
                                  kMaxDrainSeconds);
            }
            request.timeout = Seconds(*seconds);
        } else if (const auto pid = parse_uint(word, 1, kMaxPid); pid && request.pid == 0) {
            request.pid = static_cast<pid_t>(*pid);
        } else {
            return make_error(ErrorCode::kMalformed, "--drain takes no '{}'", word);
        }
    }
    return request;
}

// The name is in brackets and may hold any character, so the last bracket ends it.
Result<ProcessStat> parse_process(std::string_view stat) {
    constexpr size_t kState = 0;
    constexpr size_t kStartTime = 19;
    const size_t begin = stat.find('(');
    const size_t end = stat.rfind(')');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
        return make_error(ErrorCode::kMalformed, "no name");
    }
    const auto fields = split(trim(stat.substr(end + 1)), ' ');
    if (fields.size() <= kStartTime || fields[kState].size() != 1) {
        return make_error(ErrorCode::kMalformed, "too few fields");
    }
    const auto start = parse_uint(fields[kStartTime]);
    if (!start) {
        return make_error(ErrorCode::kMalformed, "no start time");
    }
    return ProcessStat{std::string(stat.substr(begin + 1, end - begin - 1)), fields[kState].front(),
                       *start};
}

int drain(const DrainRequest& request, const config::Environment& environment) {
    // Its secrets and certificates do not matter here, so it may be one that no server would take.
    const auto loaded = std::make_unique<const config::ParseOutcome>(
        config::load_config(request.config_file, environment));
    const config::ParseOutcome& outcome = *loaded;
    if (!outcome.ok() && request.pid == 0) {
        fmt::print(stderr, "{}", to_string(outcome.errors));
        return fail(kDrainUnclear, "{} has mistakes, so name the process: weir --drain PID",
                    request.config_file);
    }
    const config::Config* config = outcome.ok() ? &*outcome.config : nullptr;
    pid_t pid = request.pid;
    if (pid == 0) {
        Result<pid_t> found = configured_pid(*config);
        if (!found.ok()) {
            const bool none = found.error().code() == ErrorCode::kNotFound;
            return fail(none ? kDrainNotRunning : kDrainUnclear, "{}", found.error().message());
        }
        pid = *found;
    }
    const std::optional<ProcessStat> process = look_at(pid);
    if (!process) {
        return fail(kDrainNotRunning, "process {} does not run", pid);
    }
    if (!is_server(*process)) {
        return fail(kDrainNotRunning, "process {} is no weir: it is {}", pid,
                    log::token(process->name, 64));
    }
    if (::kill(pid, SIGQUIT) != 0) {
        return errno == EPERM ? fail(kDrainDenied,
                                     "process {} belongs to another user: ask as that one, or as "
                                     "root",
                                     pid)
                              : fail(kDrainNotRunning, "process {} does not run", pid);
    }
    fmt::print("weir: process {} drains\n", pid);
    std::fflush(stdout);
    const Seconds own = config != nullptr
                            ? std::chrono::ceil<Seconds>(config->drain_timeout) + kDrainGrace
                            : kDrainDefault;
    return wait_for_end(pid, *process, request.timeout < Seconds(0) ? own : request.timeout,
                        config != nullptr ? ready_url(*config) : "");
}

}  // namespace weir::app
