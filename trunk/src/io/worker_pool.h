// A few threads for work that may block (disk, DNS, transcoding); answers come back to the media
// thread by an eventfd.
#pragma once

#include <functional>
#include <memory>

#include "base/error.h"

namespace weir::io {

class WorkerPool {
  public:
    // `queue_limit` jobs may wait; more are refused with kLimit and counted.
    static Result<std::unique_ptr<WorkerPool>> create(size_t threads, size_t queue_limit);
    ~WorkerPool();  // runs no further queued job; waits for the running ones

    // `work` runs on a worker thread; `done` then on the media thread (must not yield). Never
    // blocks.
    Error submit(std::function<void()> work, std::function<void()> done);

    // Yields. Runs `work` on a worker and waits for it; not interruptible, since `work` may use the
    // caller's stack.
    Error run(std::function<void()> work);

    uint64_t refused() const;

  private:
    struct Impl;
    explicit WorkerPool(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

// Threads that may block: WorkerPool::create(), or the same on the cores that are configured.
using MakeWorkers =
    std::function<Result<std::unique_ptr<WorkerPool>>(size_t threads, size_t queue_limit)>;

}  // namespace weir::io
