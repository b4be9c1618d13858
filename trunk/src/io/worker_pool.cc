#include "io/worker_pool.h"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

#include <pthread.h>

#include "base/check.h"
#include "base/object_count.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/reactor.h"
#include "io/signal.h"
#include "io/signal_stack.h"
#include "io/signals_blocked.h"

namespace weir::io {
namespace {

// NOLINTNEXTLINE: the stats registry, filled before main()
// A job of a worker, until its answer was taken.
ObjectClass g_jobs({"worker_job", "workers"});

struct Job {
    std::function<void()> work;
    std::function<void()> done;
};

}  // namespace

struct WorkerPool::Impl final : EventHandler {
    ~Impl();
    void on_ready(uint8_t) override;
    void thread_main();

    size_t queue_limit = 0;
    int event_fd = -1;
    uint64_t refused = 0;
    uint32_t waiting = 0;  // coroutines in run()
    Registration registration;
    std::vector<std::thread> threads;

    std::mutex mutex;  // guards what follows
    std::condition_variable queue_changed;
    std::deque<Job> queue;
    std::vector<std::function<void()>> finished;
    bool stopping = false;
};

WorkerPool::Impl::~Impl() {
    {
        std::lock_guard lock(mutex);
        stopping = true;
    }
    queue_changed.notify_all();
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (size_t unfinished = queue.size() + finished.size(); unfinished > 0; unfinished--) {
        g_jobs.ended(sizeof(Job));
    }
    registration.remove();
    if (event_fd >= 0) {
        ::close(event_fd);
    }
}

void WorkerPool::Impl::thread_main() {
    pthread_setname_np(pthread_self(), "weir-worker");
    const SignalStack signal_stack;
    std::unique_lock lock(mutex);
    for (;;) {
        queue_changed.wait(lock, [this] { return stopping || !queue.empty(); });
        if (stopping) {
            return;
        }
        Job job = std::move(queue.front());
        queue.pop_front();
        lock.unlock();
        job.work();
        job.work = nullptr;
        lock.lock();
        finished.push_back(std::move(job.done));
        if (finished.size() == 1) {
            uint64_t one = 1;
            // Cannot fail: the counter is far from its limit.
            (void)!write(event_fd, &one, sizeof one);
        }
    }
}

void WorkerPool::Impl::on_ready(uint8_t) {
    uint64_t count = 0;
    (void)!read(event_fd, &count, sizeof count);
    std::vector<std::function<void()>> ready;
    {
        std::lock_guard lock(mutex);
        ready.swap(finished);
    }
    for (std::function<void()>& done : ready) {
        if (done) {
            done();
        }
        g_jobs.ended(sizeof(Job));
    }
}

WorkerPool::WorkerPool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

WorkerPool::~WorkerPool() {
    WEIR_CHECK(impl_->waiting == 0);
}

Result<std::unique_ptr<WorkerPool>> WorkerPool::create(size_t threads, size_t queue_limit) {
    WEIR_CHECK(threads > 0);
    auto impl = std::make_unique<Impl>();
    impl->queue_limit = queue_limit;
    impl->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (impl->event_fd < 0) {
        return Error::from_errno(errno, "eventfd");
    }
    WEIR_TRY_ASSIGN(impl->registration, Registration::add(impl->event_fd, *impl));
    SignalsBlocked blocked;  // inherited by the threads
    for (size_t i = 0; i < threads; i++) {
        impl->threads.emplace_back([&pool = *impl] { pool.thread_main(); });
    }
    return std::unique_ptr<WorkerPool>(
        new WorkerPool(std::move(impl)));  // NOLINT: private constructor
}

Error WorkerPool::submit(std::function<void()> work, std::function<void()> done) {
    {
        std::lock_guard lock(impl_->mutex);
        if (impl_->queue.size() >= impl_->queue_limit) {
            impl_->refused++;
            return make_error(ErrorCode::kLimit, "{} jobs are already waiting for a worker",
                              impl_->queue_limit);
        }
        impl_->queue.push_back({std::move(work), std::move(done)});
    }
    g_jobs.made(sizeof(Job));
    impl_->queue_changed.notify_one();
    return {};
}

Error WorkerPool::run(std::function<void()> work) {
    bool finished = false;
    Signal signal;
    WEIR_TRY(submit(std::move(work), [&] {
        finished = true;
        signal.notify_all();
    }));
    impl_->waiting++;
    while (!finished) {
        // Ended by the worker; the work itself has to bound its time.
        (void)signal.wait_even_interrupted(Deadline::forever()).code();
    }
    impl_->waiting--;
    return {};
}

uint64_t WorkerPool::refused() const {
    return impl_->refused;
}

}  // namespace weir::io
