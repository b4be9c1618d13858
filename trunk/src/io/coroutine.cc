#include "io/coroutine.h"

#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "io/scheduler.h"

namespace weir::io {

// ---- Coroutine

Coroutine::Coroutine() = default;

Coroutine::~Coroutine() {
    WEIR_CHECK(!running());
}

Coroutine::Coroutine(Coroutine&&) noexcept = default;

Coroutine& Coroutine::operator=(Coroutine&& other) noexcept {
    WEIR_CHECK(!running());
    state_ = std::move(other.state_);
    return *this;
}

Result<Coroutine> Coroutine::spawn(const char* name, StackSize stack, std::function<void()> body) {
    auto state = std::make_shared<CoroutineState>(name, stack, std::move(body));
    WEIR_TRY(spawn_state(state));
    Coroutine coroutine;
    coroutine.state_ = std::move(state);
    return coroutine;
}

void Coroutine::interrupt() {
    if (running()) {
        state_->interrupt();
    }
}

bool Coroutine::running() const {
    return state_ != nullptr && !state_->ended();
}

void Coroutine::join() {
    if (!running()) {
        return;
    }
    std::shared_ptr<CoroutineState> state = state_;  // the handle may be moved meanwhile
    WEIR_CHECK(state.get() != &current());
    while (!state->ended()) {
        // Ended by the body's return, which interrupt() is there for.
        (void)state->on_end().wait_even_interrupted(Deadline::forever()).code();
    }
}

// ---- TaskGroup

struct TaskGroup::Impl {
    std::unordered_map<const CoroutineState*, std::shared_ptr<CoroutineState>> running;
    Signal changed;
};

TaskGroup::TaskGroup() : impl_(std::make_shared<Impl>()) {}

TaskGroup::~TaskGroup() {
    WEIR_CHECK(impl_->running.empty());
}

Error TaskGroup::spawn(const char* name, StackSize stack, std::function<void()> body) {
    auto state = std::make_shared<CoroutineState>(name, stack, std::move(body));
    state->set_end_hook([impl = impl_](CoroutineState& ended) {
        impl->running.erase(&ended);
        impl->changed.notify_all();
    });
    WEIR_TRY(spawn_state(state));
    impl_->running.emplace(state.get(), state);
    return {};
}

size_t TaskGroup::size() const {
    return impl_->running.size();
}

void TaskGroup::interrupt_all() {
    for (auto& [key, state] : impl_->running) {
        state->interrupt();
    }
}

Error TaskGroup::join_all(Deadline deadline) {
    std::shared_ptr<Impl> impl = impl_;
    while (!impl->running.empty()) {
        WEIR_TRY(impl->changed.wait_even_interrupted(deadline));
    }
    return {};
}

// ---- Waiting

Error sleep_until(Deadline deadline) {
    CoroutineState& self = current();
    if (deadline.passed()) {
        yield();
    }
    while (!self.interrupted()) {
        if (park(deadline, "the time") == Wake::kTimeout) {
            return self.interrupted() ? interrupted_error() : Error();
        }
    }
    return interrupted_error();
}

Error sleep_for(Millis delay) {
    return sleep_until(Deadline::after(delay));
}

bool interrupted() {
    return current().interrupted();
}

// ---- Signal

struct Signal::Waiter {
    CoroutineState* coroutine = nullptr;
    Waiter* previous = nullptr;
    Waiter* next = nullptr;
    bool notified = false;
};

Signal::Signal() = default;

Signal::~Signal() {
    WEIR_CHECK(waiters_ == 0);
}

void Signal::unlink(Waiter& waiter) {
    (waiter.previous != nullptr ? waiter.previous->next : first_) = waiter.next;
    (waiter.next != nullptr ? waiter.next->previous : last_) = waiter.previous;
    waiters_--;
}

void Signal::notify_one() {
    if (first_ != nullptr) {
        Waiter& waiter = *first_;
        unlink(waiter);
        waiter.notified = true;
        waiter.coroutine->wake();
    }
}

void Signal::notify_all() {
    while (first_ != nullptr) {
        notify_one();
    }
}

Error Signal::wait(Deadline deadline, bool interruptible, const char* what, int fd) {
    CoroutineState& self = current();
    if (interruptible && self.interrupted()) {
        return interrupted_error();
    }
    Waiter waiter;
    waiter.coroutine = &self;
    waiter.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &waiter;
    last_ = &waiter;
    waiters_++;
    for (;;) {
        Wake wake = park(deadline, what, fd);
        // From here on the signal may be gone when it notified us: a notification is the last thing
        // some owners do.
        if (waiter.notified) {
            return {};
        }
        if (interruptible && self.interrupted()) {
            unlink(waiter);
            return interrupted_error();
        }
        if (wake == Wake::kTimeout) {
            unlink(waiter);
            return make_error(ErrorCode::kTimeout, "nothing happened in time");
        }
    }
}

Error Signal::wait_until(Deadline deadline, const char* what, int fd) {
    return wait(deadline, true, what, fd);
}

Error Signal::wait_even_interrupted(Deadline deadline) {
    return wait(deadline, false, "a signal", -1);
}

}  // namespace weir::io
