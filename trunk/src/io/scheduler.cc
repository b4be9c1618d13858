// Invariants: at most one switch announcement to the sanitizer is pending; a worker is either
// running a body, or in `idle`, or ended; `Stack::in_use` is true exactly while a libst thread
// exists on it.
#include "io/scheduler.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <cxxabi.h>
#include <pthread.h>
#include <st.h>

#include "base/check.h"
#include "base/log.h"
#include "base/object_count.h"
#include "io/fiber.h"
#include "io/stacks.h"

namespace weir::io {
namespace {

// The head of libstdc++'s __cxa_eh_globals (Itanium C++ ABI, exception handling §2.2.2).
struct ExceptionGlobals {
    void* caught = nullptr;
    unsigned int uncaught = 0;
};

ExceptionGlobals& exception_globals() {
    return *reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
}

// Warm workers that are kept per stack size: beyond, memory counts more than the page faults of a
// fresh stack.
constexpr size_t kWarmWorkers[] = {32, 1};
constexpr int kStackBytes[] = {64 * 1024, 256 * 1024};

// libst computes in int milliseconds: longer waits are made of slices; beyond the last there is no
// timer at all.
constexpr int64_t kLongestSliceUs = int64_t{24} * 3600 * 1'000'000;
constexpr int64_t kNoTimerUs = 365 * kLongestSliceUs;

// NOLINTBEGIN: the stats registry, filled before main()

// Coroutines whose body has not returned; main and the reactor are among them.
ObjectClass g_coroutines({"coroutine", "coroutines"});
// Waits with an end: each is one timer of libst. They live on the stacks.
ObjectClass g_timers({"timer", "coroutines"});

// NOLINTEND

thread_local bool t_media_thread = false;  // NOLINT: asked by the log hook on any thread

st_utime_t rounded_clock() {
    // Whole milliseconds, rounded down: libst cuts its poll timeout to milliseconds and would spin
    // through the rest.
    auto now = static_cast<st_utime_t>(MonoClock::now().time_since_epoch().count());
    return now / 1000 * 1000;
}

}  // namespace

struct Worker {
    st_cond_t cond = nullptr;
    st_thread_t thread = nullptr;  // for a debugger, which finds the saved registers there
    Stack* stack = nullptr;        // nullptr: the stack of the media thread itself
    std::shared_ptr<CoroutineState> task;
    ExceptionGlobals exceptions;
    Fiber fiber;
    StackSize kind = StackSize::kNormal;

    void run_task();
};

class Scheduler {
  public:
    Error start();
    Error spawn(const std::shared_ptr<CoroutineState>& state);
    void worker_main(CoroutineState* first);

    void enlist(CoroutineState& state);
    void delist(CoroutineState& state);

    static const void* root() { return reinterpret_cast<const void*>(&thread_main); }

    Worker* self() const { return static_cast<Worker*>(st_thread_getspecific(key_)); }

    // When the runtime was up: what came before is its own.
    SchedulerCounts at_reset;
    uint32_t no_yield_depth = 0;

  private:
    static void* thread_main(void* state);
    static void switched_out();
    static void switched_in();
    bool keep_warm(Worker& worker);
    void report_guard_failures();

    int key_ = -1;
    Worker main_;
    std::vector<Worker*> idle_[2];
    CoroutineState* newest_ = nullptr;
    bool guard_warning_given_ = false;
};

namespace {

Scheduler& scheduler() {
    static Scheduler* instance =
        std::make_unique<Scheduler>().release();  // never destroyed: coroutines outlive statics
    return *instance;
}

}  // namespace

void CoroutineState::interrupt() {
    interrupted_ = true;
    wake();
}

void CoroutineState::set_log_id(std::string_view id) {
    const std::string_view kept = id.substr(0, kMaxLogId);
    *std::ranges::copy(kept, log_id_).out = '\0';
}

bool CoroutineState::spend_io_budget() {
    const MonoTime now = MonoClock::now();
    if (io_calls_ == 0) {
        slice_start_ = now;
    }
    if (++io_calls_ < kIoCallsPerSlice && now - slice_start_ < kSlice) {
        return false;
    }
    io_calls_ = 0;
    return true;
}

// noexcept: an exception that escapes a coroutine ends the process where it was thrown.
void CoroutineState::run() noexcept {
    body_();
    body_ = nullptr;
}

void Worker::run_task() {
    task->worker_ = this;
    if (stack != nullptr) {
        stack->owner = task->name();
    }
    task->run();
    task->worker_ = nullptr;
    task->ended_ = true;
    scheduler().delist(*task);
    g_coroutines.ended(sizeof(CoroutineState));
    if (task->end_hook_) {
        task->end_hook_(*task);
        task->end_hook_ = nullptr;
    }
    task->on_end_.notify_all();
    task.reset();
}

void* Scheduler::thread_main(void* state) {
    scheduler().worker_main(static_cast<CoroutineState*>(state));
    return nullptr;
}

void Scheduler::worker_main(CoroutineState* first) {
    Worker self;
    self.task = std::move(first->starting_);
    self.kind = self.task->stack();
    self.thread = st_thread_self();
    self.stack = stack_of_thread(self.thread);
    self.fiber.bottom = self.stack->bottom;
    self.fiber.size = self.stack->size;
    st_thread_setspecific(key_, &self);
    fiber_enter(self.fiber);
    self.cond = st_cond_new();
    do {
        self.run_task();
    } while (keep_warm(self));
    st_cond_destroy(self.cond);
    self.stack->owner = "";
    mark_for_drop(*self.stack);
    st_thread_setspecific(key_, nullptr);
    fiber_end(self.fiber);
}

// Yields when it keeps the worker: until the next task is there.
bool Scheduler::keep_warm(Worker& worker) {
    auto& idle = idle_[static_cast<size_t>(worker.kind)];
    if (idle.size() >= kWarmWorkers[static_cast<size_t>(worker.kind)]) {
        return false;
    }
    idle.push_back(&worker);
    worker.stack->owner = "";
    while (!worker.task) {
        st_cond_wait(worker.cond);
    }
    return true;
}

// Both callbacks run on the coroutine that leaves or comes; libst skips them for its idle thread
// and for first runs.
WEIR_NO_ASAN void Scheduler::switched_out() {
    Worker* self = scheduler().self();
    if (self == nullptr) {
        return;
    }
    WEIR_DCHECK(scheduler().no_yield_depth == 0);
    // A switch inside a catch block would otherwise mix the exception stacks of two coroutines.
    ExceptionGlobals& globals = exception_globals();
    self->exceptions = globals;
    globals = ExceptionGlobals{};
    fiber_leave(self->fiber);
    if constexpr (WEIR_ASAN != 0) {
        Stack& stack = self->stack != nullptr ? *self->stack : main_stack();
        // The caller's frames are above; what libst has below is dead before anybody else runs.
        stack.live = static_cast<char*>(__builtin_frame_address(0));
        stack.fake = self->fiber.fake_stack;
    }
}

WEIR_NO_ASAN void Scheduler::switched_in() {
    Worker* self = scheduler().self();
    if (self == nullptr) {
        return;
    }
    fiber_enter(self->fiber);
    if constexpr (WEIR_ASAN != 0) {
        Stack& stack = self->stack != nullptr ? *self->stack : main_stack();
        stack.live = nullptr;
        stack.fake = nullptr;
    }
    exception_globals() = self->exceptions;
    if (self->task) {
        self->task->io_calls_ = 0;
    }
}

Error Scheduler::start() {
    if (key_ >= 0) {
        return make_error(ErrorCode::kInternal, "the runtime is already started");
    }
    st_set_utime_function(&rounded_clock);
    // Debian's libst has no epoll: asking for the "alternative" system silently gives select and
    // 1024 descriptors.
    if (st_set_eventsys(ST_EVENTSYS_POLL) != 0) {
        return Error::from_errno(errno, "st_set_eventsys(poll)");
    }
    {
        StackMapping mapping;
        if (st_init() != 0) {
            return Error::from_errno(errno, "st_init");
        }
    }
    if (st_key_create(&key_, nullptr) != 0) {
        return Error::from_errno(errno, "st_key_create");
    }
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void* bottom = nullptr;
        pthread_attr_getstack(&attributes, &bottom, &main_.fiber.size);
        pthread_attr_destroy(&attributes);
        main_.fiber.bottom = bottom;
        main_stack().bottom = static_cast<char*>(bottom);
        main_stack().size = main_.fiber.size;
    }
    main_.cond = st_cond_new();
    main_.thread = st_thread_self();
    main_.task = std::make_shared<CoroutineState>("main", StackSize::kLarge, nullptr);
    main_.task->worker_ = &main_;
    enlist(*main_.task);
    g_coroutines.made(sizeof(CoroutineState));
    st_thread_setspecific(key_, &main_);
    st_set_switch_out_cb(&switched_out);
    st_set_switch_in_cb(&switched_in);
    t_media_thread = true;
    return {};
}

Error Scheduler::spawn(const std::shared_ptr<CoroutineState>& state) {
    WEIR_DCHECK(t_media_thread && key_ >= 0);
    state->set_log_id(current().log_id());
    auto kind = static_cast<size_t>(state->stack());
    if (!idle_[kind].empty()) {
        Worker* worker = idle_[kind].back();
        idle_[kind].pop_back();
        worker->task = state;
        st_cond_signal(worker->cond);
    } else {
        state->starting_ = state;
        st_thread_t thread = nullptr;
        {
            StackMapping mapping;
            thread = st_thread_create(&thread_main, state.get(), 0, kStackBytes[kind]);
        }
        if (thread == nullptr) {
            int why = errno;
            state->starting_ = nullptr;
            return Error::from_errno(why, fmt::format("stack for coroutine {}", state->name()));
        }
        Stack* stack = stack_of_thread(thread);
        WEIR_CHECK(stack != nullptr);
        mark_in_use(*stack);
        stack->owner = state->name();
        report_guard_failures();
    }
    enlist(*state);
    g_coroutines.made(sizeof(CoroutineState));
    return {};
}

void Scheduler::enlist(CoroutineState& state) {
    state.older_ = newest_;
    if (newest_ != nullptr) {
        newest_->newer_ = &state;
    }
    newest_ = &state;
}

void Scheduler::delist(CoroutineState& state) {
    (state.newer_ != nullptr ? state.newer_->older_ : newest_) = state.older_;
    if (state.older_ != nullptr) {
        state.older_->newer_ = state.newer_;
    }
}

void Scheduler::report_guard_failures() {
    if (take_guard_failures() > 0 && !guard_warning_given_) {
        guard_warning_given_ = true;
        log::warn(
            "no guard page for new coroutine stacks: vm.max_map_count is too small; raise it to "
            "twice the "
            "number of connections stacks={}",
            stack_totals().count);
    }
}

Error start_scheduler() {
    return scheduler().start();
}

Error spawn_state(const std::shared_ptr<CoroutineState>& state) {
    return scheduler().spawn(state);
}

CoroutineState& current() {
    Worker* self = scheduler().self();
    WEIR_DCHECK(self != nullptr && self->task != nullptr);
    return *self->task;
}

bool on_media_thread() {
    return t_media_thread;
}

Wake park(Deadline deadline, const char* what, int fd) {
    Worker* self = scheduler().self();
    self->task->note_wait(what, fd, deadline);
    // libst counts from the clock of its last idle round. Aiming from there at a whole millisecond,
    // its timer fires neither early nor twice.
    int64_t due_us = (deadline.time().time_since_epoch().count() + 999) / 1000 * 1000;
    for (;;) {
        int64_t wait_us = due_us - static_cast<int64_t>(st_utime_last_clock());
        if (wait_us <= 0) {
            return Wake::kTimeout;
        }
        st_utime_t timeout = wait_us > kNoTimerUs
                                 ? ST_UTIME_NO_TIMEOUT
                                 : static_cast<st_utime_t>(std::min(wait_us, kLongestSliceUs));
        const bool timed = timeout != ST_UTIME_NO_TIMEOUT;
        if (timed) {
            g_timers.entered();
        }
        const int outcome = st_cond_timedwait(self->cond, timeout);
        if (timed) {
            g_timers.left();
        }
        if (outcome == 0) {
            return Wake::kWoken;
        }
        if (deadline.passed()) {
            return Wake::kTimeout;
        }
    }
}

void CoroutineState::wake() {
    if (worker_ != nullptr) {
        st_cond_signal(worker_->cond);
    }
}

Error interrupted_error() {
    return make_error(ErrorCode::kInterrupted, "asked to stop");
}

void yield() {
    current().note_wait("its turn (yield)", -1, Deadline::at(MonoTime()));
    st_usleep(0);
}

void set_log_id(std::string_view id) {
    current().set_log_id(id);
}

std::string_view log_id() {
    Worker* self = t_media_thread ? scheduler().self() : nullptr;
    return self != nullptr && self->task ? self->task->log_id() : std::string_view();
}

RunningView running_now() {
    const Worker* self = t_media_thread ? scheduler().self() : nullptr;
    if (self == nullptr || !self->task) {
        return {};
    }
    return {self->task->name(), self->task->log_id()};
}

const void* coroutine_root() {
    return Scheduler::root();
}

NoYield::NoYield() {
    scheduler().no_yield_depth++;
}

NoYield::~NoYield() {
    scheduler().no_yield_depth--;
}

SchedulerCounts scheduler_counts() {
    const SchedulerCounts& before = scheduler().at_reset;
    return {g_coroutines.live() - before.live, g_coroutines.made() - before.created};
}

void reset_scheduler_counts() {
    scheduler().at_reset = {g_coroutines.live(), g_coroutines.made()};
}

}  // namespace weir::io
