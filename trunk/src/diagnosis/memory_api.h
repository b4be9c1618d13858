// GET /api/v1/memory: where the memory of the process is, in every build: what the kernel says,
// what the allocator says, the counted objects per subsystem, and what a session of each kind
// takes.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "diagnosis/heap_stats.h"
#include "diagnosis/memory_report.h"
#include "diagnosis/process_stats.h"
#include "io/signal.h"
#include "io/worker_pool.h"
#include "net/api/answer.h"
#include "net/http/router.h"
#include "net/services.h"

namespace weir::diagnosis {

class MemoryApi {
  public:
    // The kernel's and the allocator's figures are read on `workers`, by one request at a time:
    // others that come meanwhile share the result. `add`: what the protocols know of theirs; must
    // not yield.
    MemoryApi(const net::ServerIdentity& identity,
              const net::Services& services,
              io::WorkerPool& workers,
              std::function<void(MemoryReport&)> add = {})
        : identity_(identity), services_(services), workers_(workers), add_(std::move(add)) {}

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

  private:
    // Read on a worker: each walks the page tables or the allocator's lists.
    struct Figures {
        MemoryStats memory;
        uint64_t unique = 0;
        uint64_t stacks = 0;
        std::optional<HeapStats> heap;
    };

    // Yields.
    void memory(net::HttpExchange& exchange);

    // Yields. Sets last_. kLimit when the workers have too much to do, kTimeout, kInterrupted.
    Error read();

    net::ServerIdentity identity_;
    net::Services services_;
    io::WorkerPool& workers_;
    std::function<void(MemoryReport&)> add_;
    bool reading_ = false;
    uint64_t runs_ = 0;
    Figures last_;
    io::Signal read_;  // a run is over
};

}  // namespace weir::diagnosis
