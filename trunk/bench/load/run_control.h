// What every run needs around its clients: Ctrl+C, waiting that ends with it, the progress line,
// descriptors, addresses, figures of the server, and the end of the run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/signal.h"
#include "io/signals.h"
#include "io/tcp.h"

#include "bench/load/core/options.h"
#include "bench/load/core/report.h"

namespace weir::load {

// CLOCK_MONOTONIC, nanoseconds: the clock of the stamps.
uint64_t now_ns();

// Options that every subcommand takes.
struct RunOptions {
    Millis duration{30'000};
    Millis connect_timeout{10'000};
    std::string json;
    uint32_t server_pid = 0;
    std::string server_api;  // http://HOST:PORT; empty: none
    bool quiet = false;
    std::FILE* table_to = stdout;  // where the report's table goes; nullptr: nowhere

    // Of runs with players:
    std::string html;                 // file of the report as a page; empty: none
    std::vector<std::string> expect;  // conditions, see core/condition.h
    bool default_conditions = true;
    bool per_client = false;
    std::vector<const char*> command_line;  // for the page

    // A server was named whose figures can be taken.
    bool has_server() const { return server_pid != 0 || !server_api.empty(); }

    void add_to(OptionTable& table);
    void add_common_to(OptionTable& table);  // of them, all but the times
    void add_checks_to(OptionTable& table);
};

class RunControl {
  public:
    // Watches SIGINT and SIGTERM from now on; the second one ends the process at once.
    static Result<std::unique_ptr<RunControl>> create(const RunOptions& options);
    ~RunControl();
    RunControl(const RunControl&) = delete;
    RunControl& operator=(const RunControl&) = delete;

    bool stopped() const { return stopped_; }

    // Ends the run early for a reason of its own.
    void stop(std::string why);

    // Why the run was stopped; empty while it is not.
    const std::string& stop_reason() const { return reason_; }

    // Yields. False when the run was stopped before the deadline.
    bool wait_until(io::Deadline deadline);

    bool wait_for(Millis delay) { return wait_until(io::Deadline::after(delay)); }

    // Shows the text in place of the last one on a terminal; elsewhere as a line, at most every
    // five seconds.
    void progress(const std::string& text);

    // Prints the report, writes the JSON file and the page, and gives the exit code. `page` makes
    // the page's text; it is called if there is to be one.
    int finish(Report& report, const std::function<std::string()>& page = {});

  private:
    explicit RunControl(const RunOptions& options) : options_(options) {}

    void watch_signals();

    const RunOptions& options_;
    std::unique_ptr<io::SignalSet> signals_;
    io::Coroutine watcher_;
    io::Signal stop_signal_;
    std::string reason_;
    bool stopped_ = false;
    bool by_signal_ = false;
    bool line_open_ = false;
    uint64_t next_line_ns_ = 0;
};

// Makes sure that `count` descriptors can be open; kLimit says how many are needed and how to get
// them.
Error ensure_descriptors(uint64_t count);

// Blocks for a DNS query if the host is a name. kNotFound.
Result<io::SocketAddress> resolve(const std::string& host, uint16_t port);

// Local addresses for clients of a loopback server: 127.0.1.1, 127.0.1.2 ... so that ports do not
// run out. Other targets: none, the kernel chooses.
class SourceAddresses {
  public:
    SourceAddresses() = default;
    explicit SourceAddresses(const io::SocketAddress& target);

    // nullptr when the kernel should choose. Valid as long as this object.
    const io::SocketAddress* of(uint32_t client) const;

  private:
    std::vector<io::SocketAddress> addresses_;
};

// "weir-bench NAME: text" on stderr.
void complain(std::string_view text);

}  // namespace weir::load
