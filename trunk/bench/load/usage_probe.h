// Figures of the server and of this process: before the players, around the measured window, and
// once a second. The server's come from /proc by its process id, or from its HTTP API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "io/tcp.h"

#include "bench/load/core/metrics.h"
#include "bench/load/core/process_stats.h"
#include "bench/load/core/report.h"
#include "bench/load/core/server_api.h"

namespace weir::load {

// Shares of a core since the last look, and memory now.
struct UsageNow {
    std::optional<double> server_cpu_percent;  // nullopt: no server was named, or it has gone
    std::optional<uint64_t> server_memory_bytes;
    double client_cpu_percent = 0;
    uint64_t client_memory_bytes = 0;
};

class UsageProbe {
  public:
    // Yields if `server_api` is not empty. `server_pid` 0 and no API: this process only. An API
    // on this host is asked for the process id only once, and /proc for the rest. Fails when the
    // process cannot be looked at or the API does not answer.
    static Result<UsageProbe> create(uint32_t server_pid, const std::string& server_api);

    bool has_server() const { return server_ != 0 || by_api_; }

    // These yield with an API.

    // The server as it is now is the one that memory per player is counted from.
    void before_players();
    void window_begins();
    void window_ends();
    UsageNow now();

    // The figures "server." and "client." of the last window.
    void add_to(MetricValues& values) const;

    // `players` connected at the end of the window; `delivered_bits` within it.
    void add_to(Report& report, uint64_t players, double delivered_bits) const;

  private:
    struct Moment {
        uint64_t at_ns = 0;
        ProcessSample server;
        ProcessSample self;
    };

    struct Instant {
        uint64_t at_ns = 0;
        std::optional<QuickSample> server;
        QuickSample self;
    };

    Result<ServerSummary> ask_api() const;
    Error choose_source(const std::string& server_api);
    Moment look() const;
    Instant look_quickly() const;

    pid_t server_ = 0;
    bool by_api_ = false;  // the API is all there is
    io::SocketAddress api_;
    std::string api_authority_;
    Moment before_;
    Moment begin_;
    Moment end_;
    Instant recent_;
    std::optional<QuickSample> last_seen_;  // of the server, within the window
};

}  // namespace weir::load
