// Profiles of the running server for google-pprof, by the HTTP API; needs --gperf=on.
//
//   GET /api/v1/profile                          what this build can do, what runs
//   GET /api/v1/profile/cpu?seconds=30           a CPU profile of that time
//   GET /api/v1/profile/cpu?action=start         from now on; dump: so far; stop: ends it, gives it
//                                                (after 300 s or at 64 MiB it ends by itself, and
//                                                waits for stop)
//   GET /api/v1/profile/heap                     what is in use, by call stack (action=dump)
//   GET /api/v1/profile/heap?action=start, stop  counts from now on; ends it
//
// Without the profiler: 501 and the command that builds one. One profile of a kind at a time: a
// second gets 409. HEAD gets 405.
#pragma once

#include <cstdint>
#include <string>

#include "diagnosis/profilers.h"
#include "io/signal.h"
#include "io/worker_pool.h"
#include "net/api/answer.h"
#include "net/http/router.h"

namespace weir::diagnosis {

class ProfileApi {
  public:
    static constexpr uint64_t kDefaultSeconds = 30;
    static constexpr uint64_t kMaxSeconds = 300;

    // CPU profiles are read on `workers`.
    ProfileApi(net::ServerIdentity identity, io::WorkerPool& workers);

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

  private:
    void list(net::HttpExchange& exchange);
    void cpu(net::HttpExchange& exchange);
    void timed_cpu(net::HttpExchange& exchange, uint64_t seconds);
    void heap(net::HttpExchange& exchange);
    void send_cpu(net::HttpExchange& exchange, Result<CpuProfileFile> profile);
    static void send_heap(net::HttpExchange& exchange, const Result<std::string>& profile);

    net::ServerIdentity identity_;
    io::WorkerPool& workers_;
    bool timed_ = false;        // a request waits for its profile
    io::Signal timed_stopped_;  // it was ended early
};

}  // namespace weir::diagnosis
