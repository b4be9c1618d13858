#include "bench/load/run_control.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>

#include <netdb.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include "io/deadline.h"

#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

constexpr uint64_t kLineEveryNs = 5'000'000'000;
constexpr uint32_t kSourceAddressCount = 64;

Error write_file(const std::string& path, const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "we");
    if (file == nullptr) {
        return Error::from_errno(errno, "open " + path);
    }
    bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    written = std::fclose(file) == 0 && written;
    return written ? Error() : Error::from_errno(errno, "write " + path);
}

}  // namespace

uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void complain(std::string_view text) {
    fmt::print(stderr, "weir-bench: {}\n", text);
}

void RunOptions::add_to(OptionTable& table) {
    table.duration("--duration", "how long to measure, once all clients were started", duration);
    table.duration("--connect-timeout", "for a connection, and again for its first frame",
                   connect_timeout);
    add_common_to(table);
}

void RunOptions::add_common_to(OptionTable& table) {
    table.count("--server-pid", "also measure CPU, switches and memory of this process", server_pid,
                1, 1U << 30);
    table.text("--server-api", "URL",
               "the same by the HTTP API of a server, such as http://127.0.0.1:1985", server_api);
    table.text("--json", "FILE", "write the report as JSON", json);
    table.flag("--quiet", "no progress line", quiet);
}

void RunOptions::add_checks_to(OptionTable& table) {
    table.list("--expect", "CONDITION",
               "what must hold at the end, such as 'loss==0 and latency.p99<2s'; may be repeated; "
               "'weir-bench metrics' lists the figures",
               expect);
    table.flag("--only-expect", "only these conditions, not those that hold by default",
               default_conditions, false);
    table.text("--report", "FILE", "write the report as a page (HTML)", html);
    table.flag("--per-client", "an entry for each client in the JSON file", per_client);
}

Result<std::unique_ptr<RunControl>> RunControl::create(const RunOptions& options) {
    // lint: allow-new - private constructor
    std::unique_ptr<RunControl> control(new RunControl(options));
    WEIR_TRY_ASSIGN(control->signals_, io::SignalSet::create({SIGINT, SIGTERM}));
    RunControl* self = control.get();
    WEIR_TRY_ASSIGN(self->watcher_, io::Coroutine::spawn("signals", io::StackSize::kNormal,
                                                         [self] { self->watch_signals(); }));
    return control;
}

RunControl::~RunControl() {
    watcher_.interrupt();
    watcher_.join();
}

void RunControl::watch_signals() {
    for (;;) {
        auto number =
            signals_->wait(io::Deadline::forever());  // ended by the destructor's interrupt
        if (!number.ok()) {
            return;
        }
        if (stopped_) {
            _exit(128 + *number);
        }
        by_signal_ = true;
        stop(*number == SIGINT ? "interrupted (Ctrl+C)" : "terminated");
    }
}

void RunControl::stop(std::string why) {
    if (!stopped_) {
        stopped_ = true;
        reason_ = std::move(why);
        stop_signal_.notify_all();
    }
}

bool RunControl::wait_until(io::Deadline deadline) {
    while (!stopped_ && !deadline.passed()) {
        if (Error error = stop_signal_.wait_until(deadline)) {
            break;
        }
    }
    return !stopped_;
}

void RunControl::progress(const std::string& text) {
    if (options_.quiet) {
        return;
    }
    if (isatty(STDERR_FILENO) == 1) {
        fmt::print(stderr, "\r\033[K{}", text);
        line_open_ = true;
        return;
    }
    uint64_t now = now_ns();
    if (now >= next_line_ns_) {
        next_line_ns_ = now + kLineEveryNs;
        fmt::print(stderr, "{}\n", text);
    }
}

int RunControl::finish(Report& report, const std::function<std::string()>& page) {
    if (line_open_) {
        fmt::print(stderr, "\r\033[K");
    }
    if (stopped_ && by_signal_) {
        report.incomplete(reason_);
    } else if (stopped_) {
        report.ended_early(reason_);
    }
    if (options_.table_to != nullptr) {
        fmt::print(options_.table_to, "{}", report.to_table());
        std::fflush(options_.table_to);
    }
    if (!options_.json.empty()) {
        if (Error error = write_file(options_.json, report.to_json())) {
            complain(error.message());
            return kExitUsage;
        }
    }
    if (!options_.html.empty() && page) {
        if (Error error = write_file(options_.html, page())) {
            complain(error.message());
            return kExitUsage;
        }
    }
    switch (report.verdict()) {
        case Report::Verdict::kPassed: return kExitPassed;
        case Report::Verdict::kFailed: return kExitFailed;
        case Report::Verdict::kIncomplete: return kExitIncomplete;
    }
    return kExitFailed;
}

Error ensure_descriptors(uint64_t count) {
    constexpr uint64_t kOwn = 64;
    uint64_t needed = count + kOwn;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return Error::from_errno(errno, "getrlimit");
    }
    if (limit.rlim_cur >= needed) {
        return {};
    }
    uint64_t had = limit.rlim_max;
    limit.rlim_cur = needed;
    limit.rlim_max =
        std::max<rlim_t>(limit.rlim_max, needed);  // beyond the hard limit: only for root
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return make_error(ErrorCode::kLimit,
                          "{} open files are needed, the limit is {}: raise it ('ulimit -n {}' as "
                          "root, or 'nofile' in "
                          "/etc/security/limits.conf), or ask for fewer clients",
                          needed, had, needed);
    }
    return {};
}

Result<io::SocketAddress> resolve(const std::string& host, uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG;
    addrinfo* found = nullptr;
    int failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (failure != 0) {
        hints.ai_flags =
            0;  // a loopback literal on a machine without other addresses of its family
        failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    }
    if (failure != 0) {
        return make_error(ErrorCode::kNotFound, "host '{}': {}", host, gai_strerror(failure));
    }
    // IPv4 first, since "localhost" often means both and servers may listen on IPv4 only.
    const addrinfo* chosen = found;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
        if (each->ai_family == AF_INET) {
            chosen = each;
            break;
        }
    }
    io::SocketAddress address = io::SocketAddress::from_raw(chosen->ai_addr, chosen->ai_addrlen);
    freeaddrinfo(found);
    return address;
}

SourceAddresses::SourceAddresses(const io::SocketAddress& target) {
    if (target.family() != AF_INET || !target.is_loopback()) {
        return;
    }
    for (uint32_t i = 0; i < kSourceAddressCount; i++) {
        auto address = io::SocketAddress::parse(fmt::format("127.0.1.{}:0", i + 1));
        if (address.ok()) {
            addresses_.push_back(*address);
        }
    }
}

const io::SocketAddress* SourceAddresses::of(uint32_t client) const {
    return addresses_.empty() ? nullptr : &addresses_[client % addresses_.size()];
}

}  // namespace weir::load
