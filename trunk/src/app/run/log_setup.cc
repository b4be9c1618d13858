#include "app/run/log_setup.h"

#include <utility>

#include "app/run/cpu_affinity.h"
#include "base/log.h"

namespace weir::app {
namespace {

io::LogTarget target_of(const config::Config& config) {
    return {config.log_file, config.log_json};
}

Result<std::unique_ptr<io::LogWriter>> start_writer(const config::Config& config) {
    const CoreNumbers cores = config.worker_cpu_affinity.numbers();
    if (cores.empty()) {
        return io::LogWriter::start(target_of(config));
    }
    // A thread takes over the cores of the one that makes it.
    WEIR_TRY_ASSIGN(const cpu_set_t mask, core_mask());
    WEIR_TRY(run_on_cores(cores));
    Result<std::unique_ptr<io::LogWriter>> writer = io::LogWriter::start(target_of(config));
    WEIR_TRY(put_back(mask));
    return writer;
}

constexpr log::Level kLevels[] = {log::Level::kDebug, log::Level::kInfo, log::Level::kWarn,
                                  log::Level::kError};

}  // namespace

Result<std::unique_ptr<LogSetup>> LogSetup::start(const config::Config& config) {
    log::set_level(config.log_level);
    WEIR_TRY_ASSIGN(std::unique_ptr<io::LogWriter> writer, start_writer(config));
    return std::unique_ptr<LogSetup>(
        new LogSetup(std::move(writer)));  // NOLINT: private constructor
}

void LogSetup::reconfigure(const config::Config& config) {
    log::set_level(config.log_level);
    writer_->retarget(target_of(config));
}

void LogSetup::reopen() {
    writer_->reopen();
}

void write_log_metrics(net::Exposition& text) {
    const io::LogStats stats = io::LogWriter::living_stats();
    text.head("weir_log_lines_total", "counter", "Log lines taken, by level.");
    for (const log::Level level : kLevels) {
        text.sample("weir_log_lines_total", stats.lines[static_cast<size_t>(level)],
                    fmt::format("{{level=\"{}\"}}", to_string(level)));
    }
    text.single("weir_log_dropped_total", "counter",
                "Log lines lost because they came faster than they could be written.",
                stats.dropped);
    text.single("weir_log_write_errors_total", "counter",
                "Times that the log could no longer be written (full disk and such).",
                stats.write_errors);
    text.single("weir_log_failing", "gauge", "Whether the log cannot be written: 1 or 0.",
                stats.failing.empty() ? 0 : 1);
    text.single("weir_log_queue_bytes", "gauge", "Log lines that wait to be written.",
                stats.queued_bytes);
}

void write_ended_metrics(net::Exposition& text, const net::ClientTable& clients) {
    constexpr std::string_view kName = "weir_clients_ended_total";
    text.head(kName, "counter", "Clients that left, by what they were and why.");
    for (size_t role = 0; role < net::kClientRoles; role++) {
        for (size_t why = 0; why < net::kEndClasses; why++) {
            const auto as_role = static_cast<net::ClientRole>(role);
            const auto as_why = static_cast<net::EndClass>(why);
            text.sample(kName, clients.ended(as_role, as_why),
                        fmt::format("{{role=\"{}\",reason=\"{}\"}}", to_string(as_role),
                                    to_string(as_why)));
        }
    }
}

net::Json log_json() {
    const io::LogStats stats = io::LogWriter::living_stats();
    net::Json lines = net::Json::object();
    for (const log::Level level : kLevels) {
        lines[std::string(to_string(level))] = stats.lines[static_cast<size_t>(level)];
    }
    return {{"lines", std::move(lines)},
            {"dropped", stats.dropped},
            {"queued_bytes", stats.queued_bytes},
            {"write_errors", stats.write_errors},
            {"failing", stats.failing.empty() ? net::Json() : net::Json(stats.failing)}};
}

}  // namespace weir::app
