// Which event is sent next. A machine without I/O, clock or coroutine.
//
// Each client has a line: its events go one after another, so a server never hears of an end before
// the beginning. Lines of different clients go side by side. Events for the same servers share a
// lane, which sends so many at once: servers that hang hold up their own lane and no other. In a
// lane, questions (somebody waits) go before notifications, and leave them no more than half of the
// places.
//
// A notification that failed is sent again after 0.5 s, 1 s, 2 s ... 30 s, each a quarter more or
// less, until its time is over; its line waits. Bounded: kMaxTold notifications in all, kMaxInLine
// of one client; what is over that, or was kept too long, is dropped, and the owner is told.
// Questions are bounded by the clients that wait for them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/object_count.h"
#include "base/random.h"
#include "base/ref.h"

namespace weir::app {

class HookLine;

// One event on its way. The owner derives from it.
class HookTask {
  public:
    HookTask() = default;
    HookTask(const HookTask&) = delete;
    HookTask& operator=(const HookTask&) = delete;
    virtual ~HookTask() = default;

    bool asks = false;   // somebody waits for the answer
    std::string lane;    // the same for the same servers
    MonoTime give_up{};  // notifications: no attempt begins after this
    uint32_t attempts = 0;

  private:
    friend class HookSchedule;
    HookLine* line_ = nullptr;
};

// The events of one client, the oldest first.
class HookLine : public RefCounted<HookLine>, private Counted<HookLine> {
  public:
    static constexpr ObjectName kObjectName{"hook_line", "hooks"};

    virtual ~HookLine() = default;

    bool empty() const { return tasks_.empty(); }

  private:
    friend class HookSchedule;

    enum class State : uint8_t { kIdle, kReady, kRunning, kDelayed };

    std::deque<std::unique_ptr<HookTask>> tasks_;
    State state_ = State::kIdle;
};

class HookSchedule {
  public:
    static constexpr size_t kMaxTold = 10'000;
    static constexpr size_t kMaxInLine = 32;
    static constexpr size_t kPerLane = 32;
    static constexpr size_t kToldPerLane = kPerLane / 2;
    static constexpr Millis kFirstDelay{500};
    static constexpr Millis kLongestDelay{30'000};

    // `on_drop` hears of each notification that is thrown away unsent; it must not call back.
    HookSchedule(RandomSource& random, std::function<void(HookTask&)> on_drop)
        : random_(random), on_drop_(std::move(on_drop)) {}

    // False: it is over the limits and was dropped.
    bool add(HookLine& line, std::unique_ptr<HookTask> task);

    // The next event to send now; null: none, or its lane is full. Ends with done() or retry().
    HookTask* start(MonoTime now);

    // It is over; destroyed here.
    void done(HookTask& task, MonoTime now);

    // A notification failed: it is sent again later, and true; or its time is over, and it is
    // destroyed.
    bool retry(HookTask& task, MonoTime now);

    // Nobody waits for the question any more. True: it had not begun and is destroyed.
    bool cancel(HookTask& task);

    // From now on nothing is sent a second time; what waits for that is sent once more now.
    void hurry();

    // Drops all notifications that have not begun.
    void drop_all();

    // When start() has to be called again, if nothing happens before.
    std::optional<MonoTime> next_due() const;

    // Notifications that are not yet taken, running ones included.
    size_t told() const { return told_; }

    size_t running() const { return running_; }

    size_t lanes() const { return lanes_.size(); }

  private:
    struct Lane {
        std::deque<Ref<HookLine>> asking;
        std::deque<Ref<HookLine>> telling;
        size_t running = 0;
        size_t running_told = 0;
    };

    void enqueue(HookLine& line);
    void remove_front(HookLine& line);
    HookTask* start_in(Lane& lane, const std::string& name, MonoTime now);
    HookTask* take(std::deque<Ref<HookLine>>& from,
                   const std::string& name,
                   bool asks,
                   MonoTime now);
    void leave_lane(const HookTask& task);
    void wake_due(MonoTime now);
    Millis delay_after(uint32_t attempts);

    RandomSource& random_;
    std::function<void(HookTask&)> on_drop_;
    std::map<std::string, Lane> lanes_;
    std::multimap<MonoTime, Ref<HookLine>> delayed_;
    size_t told_ = 0;
    size_t running_ = 0;
    bool hurried_ = false;
    bool moved_ = false;  // while start() looks: a line came to another queue
};

}  // namespace weir::app
