// One system call a loop: libst's idle thread polls one descriptor, our epoll instance, and the
// linker's --wrap=poll lets it fetch the events themselves. The reactor's coroutine, which libst
// makes ready then, dispatches them. A batch is limited, and all ready coroutines run before the
// next is fetched, so neither side starves the other.
#include "io/reactor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/epoll.h>

#include <st.h>

#include "base/build.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/object_count.h"
#include "io/coroutine.h"
#include "io/reactor_core.h"
#include "io/runtime.h"
#include "io/scheduler.h"
#include "io/stacks.h"

extern "C" {
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): names of the linker's
// --wrap
int __real_poll(pollfd* descriptors, nfds_t count, int timeout_ms);
int __wrap_poll(pollfd* descriptors, nfds_t count, int timeout_ms);
}

namespace weir::io {
namespace {

// A handler costs up to some 5 us (one send): a batch holds coroutines up for less than a
// millisecond.
constexpr int kBatch = 128;
// Each costs one madvise, 1 to 3 us.
constexpr size_t kStackDropsPerLoop = 128;
constexpr Micros kBusyWindow{100'000};

// NOLINTNEXTLINE: the stats registry, filled before main()
// What the reactor knows.
ObjectClass g_descriptors({"descriptor", "network"});

struct Slot {
    EventHandler* handler = nullptr;  // nullptr: free
    uint32_t generation = 0;
    uint32_t next_free = 0;
};

// Share of time outside epoll, as a moving average over about kBusyWindow, from two clock reads a
// loop.
class BusyMeter {
  public:
    void enter_wait(MonoTime now) {
        note_turn(now);
        pass(now, 1.0);
    }

    void leave_wait(MonoTime now) { pass(now, 0.0); }

    // Asked while the thread runs: the current run counts as busy.
    double share(MonoTime now) const { return moved(now, 1.0); }

    TurnStats turns() const {
        TurnStats stats = turns_;
        stats.longest = std::max(turns_.longest, longest_before_);
        return stats;
    }

  private:
    static constexpr Seconds kLongestPeriod{30};

    void note_turn(MonoTime now) {
        const Micros turn = now - last_;
        size_t bound = 0;
        while (bound < TurnStats::kBoundsUs.size() && turn.count() > TurnStats::kBoundsUs[bound]) {
            bound++;
        }
        turns_.counts[bound]++;
        turns_.busy_us += static_cast<uint64_t>(std::max<int64_t>(turn.count(), 0));
        if (now - longest_since_ > kLongestPeriod) {
            longest_before_ = turns_.longest;
            turns_.longest = Micros(0);
            longest_since_ = now;
        }
        turns_.longest = std::max(turns_.longest, turn);
    }

    void pass(MonoTime now, double busy) {
        share_ = moved(now, busy);
        last_ = now;
    }

    double moved(MonoTime now, double busy) const {
        double weight =
            static_cast<double>((now - last_).count()) / static_cast<double>(kBusyWindow.count());
        return share_ + (busy - share_) * std::min(weight, 1.0);
    }

    MonoTime last_ = MonoClock::now();
    double share_ = 0.0;
    TurnStats turns_;
    Micros longest_before_{0};  // of the period before
    MonoTime longest_since_ = last_;
};

class Reactor {
  public:
    Error start();
    Result<uint32_t> add(int fd, EventHandler& handler);

    void set_handler(uint32_t slot, EventHandler& handler) { slots_[slot].handler = &handler; }

    void remove(uint32_t slot, int fd);
    int fetch(int timeout_ms);

    int epoll_fd() const { return epoll_fd_; }

    double busy_share() const { return busy_.share(MonoClock::now()); }

    TurnStats turns() const { return busy_.turns(); }

    void add_stats(RuntimeStats& stats) const;

  private:
    static constexpr uint32_t kEndOfList = UINT32_MAX;

    void run();
    void dispatch();
    int wait_for_events(int64_t wait_us);

    int epoll_fd_ = -1;
    // Valgrind 3.19 does not know the call and would complain of it.
    bool has_pwait2_ = WEIR_VALGRIND == 0;
    int fetched_ = 0;
    std::array<epoll_event, kBatch> events_{};
    std::vector<Slot> slots_;
    uint32_t first_free_ = kEndOfList;
    BusyMeter busy_;
    Coroutine coroutine_;
    uint64_t loops_ = 0;
    uint64_t events_total_ = 0;
    uint64_t stale_ = 0;
};

Reactor& reactor() {
    static Reactor* instance =
        std::make_unique<Reactor>().release();  // never destroyed: runs until the process ends
    return *instance;
}

uint64_t event_key(uint32_t slot, uint32_t generation) {
    return uint64_t{generation} << 32 | slot;
}

uint8_t ready_bits(uint32_t events) {
    uint8_t ready = 0;
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
        ready |= kReadable;
    }
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) {
        ready |= kWritable;
    }
    if (events & (EPOLLRDHUP | EPOLLHUP)) {
        ready |= kHangup;
    }
    if (events & EPOLLERR) {
        ready |= kFault;
    }
    return ready;
}

Error Reactor::start() {
    epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd_ < 0) {
        return Error::from_errno(errno, "epoll_create1");
    }
    WEIR_TRY_ASSIGN(coroutine_, Coroutine::spawn("reactor", StackSize::kNormal, [this] { run(); }));
    return {};
}

void Reactor::run() {
    current().note_wait("events (epoll)", epoll_fd_, Deadline::at(MonoTime()));
    for (;;) {
        pollfd descriptor{epoll_fd_, POLLIN, 0};
        st_poll(&descriptor, 1, ST_UTIME_NO_TIMEOUT);
        dispatch();
    }
}

void Reactor::dispatch() {
    NoYield guard;
    int count = std::exchange(fetched_, 0);
    for (int i = 0; i < count; i++) {
        const epoll_event& event = events_[static_cast<size_t>(i)];
        auto index = static_cast<uint32_t>(event.data.u64);
        auto generation = static_cast<uint32_t>(event.data.u64 >> 32);
        // An earlier handler of this batch may have closed this descriptor, and its slot may have a
        // new owner.
        const Slot& slot = slots_[index];
        if (slot.handler == nullptr || slot.generation != generation) {
            stale_++;
            continue;
        }
        events_total_++;
        slot.handler->on_ready(ready_bits(event.events));
    }
}

Result<uint32_t> Reactor::add(int fd, EventHandler& handler) {
    if (epoll_fd_ < 0) {
        return make_error(ErrorCode::kInternal, "the runtime is not started");
    }
    if (first_free_ == kEndOfList) {
        first_free_ = static_cast<uint32_t>(slots_.size());
        slots_.push_back({nullptr, 0, kEndOfList});
    }
    uint32_t index = first_free_;
    Slot& slot = slots_[index];
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u64 = event_key(index, slot.generation);
    if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) {
        return Error::from_errno(errno, "epoll_ctl(add)");
    }
    first_free_ = slot.next_free;
    slot.handler = &handler;
    g_descriptors.made(0);
    return index;
}

void Reactor::remove(uint32_t index, int fd) {
    // The descriptor may have been duplicated into a child process: closing it alone would leave it
    // registered.
    epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
    Slot& slot = slots_[index];
    slot.handler = nullptr;
    slot.generation++;
    slot.next_free = std::exchange(first_free_, index);
    g_descriptors.ended(0);
}

int Reactor::wait_for_events(int64_t wait_us) {
    if (has_pwait2_) {
        timespec limit{};
        limit.tv_sec = static_cast<time_t>(std::max<int64_t>(wait_us, 0) / 1'000'000);
        limit.tv_nsec = static_cast<long>(std::max<int64_t>(wait_us, 0) % 1'000'000 * 1000);
        int count = epoll_pwait2(epoll_fd_, events_.data(), kBatch, wait_us < 0 ? nullptr : &limit,
                                 nullptr);
        if (count >= 0 || errno == EINTR) {
            return count;
        }
        has_pwait2_ = false;  // an old kernel, or a container that does not know it
    }
    auto wait_ms = static_cast<int>(wait_us < 0 ? -1 : (wait_us + 999) / 1000);
    return epoll_wait(epoll_fd_, events_.data(), kBatch, wait_ms);
}

// Runs on the stack of libst's idle thread, when no coroutine is ready.
int Reactor::fetch(int timeout_ms) {
    bool stacks_left = drop_ended_stacks(kStackDropsPerLoop);
    MonoTime before = MonoClock::now();
    int64_t wait_us = timeout_ms;
    if (timeout_ms > 0) {
        // libst counted from the clock of its last idle round, before the coroutines ran: what they
        // used comes off.
        int64_t due_us = static_cast<int64_t>(st_utime_last_clock()) + int64_t{timeout_ms} * 1000;
        wait_us = std::max<int64_t>(due_us - before.time_since_epoch().count(), 0);
    }
    if (stacks_left) {
        wait_us = 0;
    }
    busy_.enter_wait(before);
    fetched_ = wait_for_events(wait_us);
    if (fetched_ < 0 && errno == EINTR) {
        // After a signal, or a stop of the process: what came meanwhile is heard before timeouts.
        fetched_ = wait_for_events(0);
    }
    busy_.leave_wait(MonoClock::now());
    loops_++;
    fetched_ = std::max(fetched_, 0);
    return fetched_;
}

void Reactor::add_stats(RuntimeStats& stats) const {
    stats.reactor_loops = loops_;
    stats.reactor_events = events_total_;
    stats.stale_events = stale_;
    stats.registered = g_descriptors.live();
}

}  // namespace

Error start_reactor() {
    return reactor().start();
}

void add_reactor_stats(RuntimeStats& stats) {
    reactor().add_stats(stats);
}

TurnStats turn_stats() {
    return reactor().turns();
}

double busy_share() {
    return reactor().busy_share();
}

Registration::Registration(Registration&& other) noexcept
    : slot_(std::exchange(other.slot_, kNone)), fd_(std::exchange(other.fd_, -1)) {}

Registration& Registration::operator=(Registration&& other) noexcept {
    if (this != &other) {
        remove();
        slot_ = std::exchange(other.slot_, kNone);
        fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
}

Registration::~Registration() {
    remove();
}

Result<Registration> Registration::add(int fd, EventHandler& handler) {
    Registration registration;
    WEIR_TRY_ASSIGN(registration.slot_, reactor().add(fd, handler));
    registration.fd_ = fd;
    return registration;
}

void Registration::set_handler(EventHandler& handler) {
    if (active()) {
        reactor().set_handler(slot_, handler);
    }
}

void Registration::remove() {
    if (active()) {
        reactor().remove(std::exchange(slot_, kNone), fd_);
    }
}

}  // namespace weir::io

int __wrap_poll(pollfd* descriptors, nfds_t count, int timeout_ms) {
    if (count == 1 && descriptors->fd >= 0 && descriptors->fd == weir::io::reactor().epoll_fd()) {
        int fetched = weir::io::reactor().fetch(timeout_ms);
        descriptors->revents = fetched > 0 ? POLLIN : 0;
        return fetched > 0 ? 1 : 0;
    }
    return __real_poll(descriptors, count, timeout_ms);
}
