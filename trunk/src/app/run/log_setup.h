// The log as the configuration wants it: level, target and format; and what /metrics and the API
// say of it. One per process, made before anything is logged and destroyed last.
#pragma once

#include <memory>

#include "config/config.h"
#include "io/log_writer.h"
#include "net/api/answer.h"
#include "net/api/exposition.h"
#include "net/client_table.h"

namespace weir::app {

class LogSetup {
  public:
    // Opens the log file; the writer's thread runs on the cores of the workers.
    static Result<std::unique_ptr<LogSetup>> start(const config::Config& config);

    // For a reload: whether reconfigure() will be able to. Blocks on disk: on a worker.
    static Error check(const config::Config& config) {
        return io::LogWriter::check(config.log_file);
    }

    // Of a running server: log_level, log_file, log_format.
    void reconfigure(const config::Config& config);

    // SIGUSR1: after logrotate has renamed the file.
    void reopen();

  private:
    explicit LogSetup(std::unique_ptr<io::LogWriter> writer) : writer_(std::move(writer)) {}

    std::unique_ptr<io::LogWriter> writer_;
};

// weir_log_lines_total{level}, weir_log_dropped_total and so on, of the process's writer.
void write_log_metrics(net::Exposition& text);

// weir_clients_ended_total{role,reason}.
void write_ended_metrics(net::Exposition& text, const net::ClientTable& clients);

// "log" in the summaries.
net::Json log_json();

}  // namespace weir::app
