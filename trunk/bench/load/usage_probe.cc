#include "bench/load/usage_probe.h"

#include <algorithm>

#include <unistd.h>

#include <fmt/format.h>

#include "io/deadline.h"

#include "bench/load/core/units.h"
#include "bench/load/run_control.h"

namespace weir::load {
namespace {

constexpr Millis kApiTimeout{2'000};
constexpr size_t kMaxAnswer = 64 * 1024;

double seconds(uint64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

// The server may have been replaced by another process of its number.
double cpu_seconds(const ProcessSample& begin, const ProcessSample& end) {
    return end.cpu_us < begin.cpu_us ? 0 : static_cast<double>(end.cpu_us - begin.cpu_us) / 1e6;
}

double switches(const ProcessSample& begin, const ProcessSample& end) {
    auto of = [](const ProcessSample& sample) {
        return static_cast<double>(sample.voluntary_switches + sample.involuntary_switches);
    };
    return std::max(0.0, of(end) - of(begin));
}

double percent(const QuickSample& before, const QuickSample& now, uint64_t ns) {
    return now.cpu_us < before.cpu_us || ns == 0
               ? 0
               : 100 * static_cast<double>(now.cpu_us - before.cpu_us) * 1000 /
                     static_cast<double>(ns);
}

}  // namespace

Result<UsageProbe> UsageProbe::create(uint32_t server_pid, const std::string& server_api) {
    UsageProbe probe;
    probe.server_ = static_cast<pid_t>(server_pid);
    if (server_pid == 0 && !server_api.empty()) {
        WEIR_TRY(probe.choose_source(server_api).with_context("--server-api"));
    }
    if (probe.server_ != 0) {
        WEIR_TRY_ASSIGN(probe.before_.server, sample_process(probe.server_));
    }
    probe.before_ = probe.look();
    probe.begin_ = probe.end_ = probe.before_;
    probe.recent_ = probe.look_quickly();
    return probe;
}

Error UsageProbe::choose_source(const std::string& server_api) {
    WEIR_TRY_ASSIGN(Url url, parse_url(server_api));
    if (url.scheme != "http") {
        return make_error(ErrorCode::kUnsupported, "'{}': expected http://HOST:PORT", server_api);
    }
    WEIR_TRY_ASSIGN(api_, resolve(url.host, url.port));
    api_authority_ = url.authority();
    WEIR_TRY_ASSIGN(ServerSummary summary, ask_api());
    // A process of that number on this host is the server only if the API is on this host too. In
    // a container of its own the server has another number there: then its API is what there is.
    auto pid = static_cast<pid_t>(summary.pid);
    auto process = sample_process(pid);
    bool is_same = process.ok() && process->cpu_us + 1'000'000 >= summary.cpu_us &&
                   process->cpu_us <= summary.cpu_us + 1'000'000;
    if (api_.is_loopback() && is_same) {
        server_ = pid;
    } else {
        by_api_ = true;
    }
    return {};
}

Result<ServerSummary> UsageProbe::ask_api() const {
    io::Deadline deadline = io::Deadline::after(kApiTimeout);
    WEIR_TRY_ASSIGN(auto stream, io::TcpStream::connect(api_, deadline));
    std::string request = summary_request(api_authority_);
    WEIR_TRY(stream->write_all(as_bytes(request), deadline));
    std::string answer;
    Bytes buffer(4096);
    while (answer.size() < kMaxAnswer) {
        auto size = stream->read_some(buffer, deadline);
        if (!size.ok()) {
            if (size.error().code() != ErrorCode::kClosed) {
                return size.take_error().with_context(api_.to_string());
            }
            break;
        }
        answer.append(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*size));
    }
    return parse_summary(answer);
}

UsageProbe::Moment UsageProbe::look() const {
    Moment moment;
    moment.at_ns = now_ns();
    if (server_ != 0) {
        if (auto sample = sample_process(server_); sample.ok()) {
            moment.server = *sample;
        }
    } else if (by_api_) {
        if (auto summary = ask_api(); summary.ok()) {
            moment.server.cpu_us = summary->cpu_us;
            moment.server.resident_kib = summary->resident_kib;
        }
    }
    if (auto sample = sample_process(getpid()); sample.ok()) {
        moment.self = *sample;
    }
    return moment;
}

UsageProbe::Instant UsageProbe::look_quickly() const {
    Instant instant;
    instant.at_ns = now_ns();
    if (server_ != 0) {
        if (auto sample = sample_quickly(server_); sample.ok()) {
            instant.server = *sample;
        }
    } else if (by_api_) {
        if (auto summary = ask_api(); summary.ok()) {
            instant.server = QuickSample{summary->cpu_us, summary->resident_kib};
        }
    }
    if (auto sample = sample_quickly(getpid()); sample.ok()) {
        instant.self = *sample;
    }
    return instant;
}

void UsageProbe::before_players() {
    before_ = look();
}

void UsageProbe::window_begins() {
    begin_ = end_ = look();
    last_seen_.reset();
}

void UsageProbe::window_ends() {
    Moment now = look();
    if (has_server() && now.server.cpu_us == 0) {
        now.server = begin_.server;  // it has gone: keep what was seen last
        if (last_seen_) {
            now.server.cpu_us = last_seen_->cpu_us;
            now.server.resident_kib = last_seen_->resident_kib;
        }
    }
    end_ = now;
}

UsageNow UsageProbe::now() {
    Instant instant = look_quickly();
    uint64_t passed = instant.at_ns - recent_.at_ns;
    UsageNow now;
    if (instant.server) {
        last_seen_ = instant.server;
        now.server_memory_bytes = instant.server->resident_kib * 1024;
        if (recent_.server) {
            now.server_cpu_percent = percent(*recent_.server, *instant.server, passed);
        }
    }
    now.client_cpu_percent = percent(recent_.self, instant.self, passed);
    now.client_memory_bytes = instant.self.resident_kib * 1024;
    recent_ = instant;
    return now;
}

void UsageProbe::add_to(MetricValues& values) const {
    double window = seconds(end_.at_ns - begin_.at_ns);
    auto kib = [](uint64_t value) { return static_cast<double>(value) * 1024; };
    if (has_server() && end_.server.resident_kib > 0) {
        values.set("server.rss", kib(end_.server.resident_kib));
        values.set("server.memory",
                   kib(server_ != 0 ? end_.server.private_dirty_kib : end_.server.resident_kib));
    }
    values.set("client.memory", kib(end_.self.resident_kib));
    if (window <= 0) {
        return;
    }
    const bool seen = begin_.server.cpu_us > 0 && end_.server.cpu_us > 0;
    if (has_server() && seen) {
        values.set("server.cpu", 100 * cpu_seconds(begin_.server, end_.server) / window);
    }
    if (server_ != 0 && seen) {
        values.set("server.switches", switches(begin_.server, end_.server) / window);
    }
    values.set("client.cpu", 100 * cpu_seconds(begin_.self, end_.self) / window);
    values.set("client.switches", switches(begin_.self, end_.self) / window);
}

void UsageProbe::add_to(Report& report, uint64_t players, double delivered_bits) const {
    double window = seconds(end_.at_ns - begin_.at_ns);
    auto add = [&](std::string_view key, std::string_view title, const ProcessSample& begin,
                   const ProcessSample& end, bool has_switches) -> ReportSection& {
        double cpu = cpu_seconds(begin, end);
        ReportSection& section = report.section(key, title);
        section.number("cpu_s", "CPU time", cpu, "s", 2);
        section.number("cpu_percent", "CPU", window > 0 ? 100 * cpu / window : 0, "% of a core", 1);
        if (delivered_bits > 0) {
            section.number("cpu_s_per_gbit", "CPU per delivered Gbit", cpu / (delivered_bits / 1e9),
                           "s", 3);
        }
        if (has_switches) {
            section.number("switches_per_s", "context switches",
                           window > 0 ? switches(begin, end) / window : 0, "per second", 0);
        }
        section.number("resident_mib", "resident", static_cast<double>(end.resident_kib) / 1024,
                       "MiB", 1);
        return section;
    };
    if (by_api_) {
        add("server", fmt::format("server (API of {})", api_authority_), begin_.server, end_.server,
            false);
    } else if (server_ != 0) {
        ReportSection& section = add("server", fmt::format("server (process {})", server_),
                                     begin_.server, end_.server, true);
        section.count("private_kib_before", "user memory before, KiB",
                      before_.server.private_dirty_kib);
        section.count("private_kib", "user memory at the end, KiB", end_.server.private_dirty_kib);
        section.count("anonymous_kib", "of it anonymous, KiB", end_.server.anonymous_kib);
        if (players > 0) {
            double grown = static_cast<double>(end_.server.private_dirty_kib) -
                           static_cast<double>(before_.server.private_dirty_kib);
            section.number("private_kib_per_player", "user memory per player",
                           grown / static_cast<double>(players), "KiB", 2);
        }
    }
    add("client", "this process", begin_.self, end_.self, true);
}

}  // namespace weir::load
