// SourceMachine: when a source (or a forward) runs, waits and gives up. Pure: time is a parameter,
// the owner does what it says.
//
//            wanted                on_connected()             on_media()
//   idle ------------> connecting ---------------> waiting ------------> live
//    ^                  ^   | on_ended()               |                   |
//    |     retry is due |   v                          v                   |
//    |               backing off <-----------------------------------------+
//    +--- not wanted for `linger`, and nobody waits for it who asked (from every state)
//         A retry is due only while somebody wants it or waits.
//         stop() --> stopped
//
// The owner calls on_x when something happens and tick() at next_timeout(), and then compares
// runs() with what it does: a run begins when runs() became true, and is interrupted when it became
// false.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"

namespace weir::net {

enum class SourceState : uint8_t {
    kIdle,        // nobody wants it
    kConnecting,  // to the origin, up to its consent
    kWaiting,     // for the first media
    kLive,
    kBackingOff,  // it failed, and is tried again; or another publisher has the name
    kStopped,
};

inline constexpr size_t kSourceStates = 6;

// "idle", "connecting", "waiting", "live", "backing_off", "stopped".
std::string_view to_string(SourceState state);

struct SourceTiming {
    bool on_demand = false;          // it runs only while somebody wants it
    Millis linger{10'000};           // and so much longer
    Millis first_backoff{500};       // after the first failure; doubled with each one that follows
    Millis longest_backoff{10'000};  // shorter than a player waits
    Millis settled{10'000};          // who was live for so long fails for the first time again
    // A stream that was live and ends is looked for at once, since it may be elsewhere.
    bool looks_again = false;

    bool operator==(const SourceTiming&) const = default;
};

class SourceMachine {
  public:
    // Between two tries, where the first one is not a failure.
    static constexpr Millis kLeastSpacing{500};
    // So that not all who have lost one node ask at the same moment.
    static constexpr Millis kLookSpread{50};

    // Idle up to the first call of what follows. `random` must outlive this.
    SourceMachine(const SourceTiming& timing, RandomSource& random, MonoTime now)
        : timing_(timing), random_(random), since_(now) {}

    // ---- what happens ----

    // Somebody wants the stream, nobody does any more. For those on demand.
    void set_demand(bool wanted, MonoTime now);

    // Somebody asks for it, and wants it within `waits`, or not at all.
    void ask(Millis waits, MonoTime now);

    // Another publisher has the stream's name, or has left.
    void set_held(bool held, MonoTime now);

    // Of the run under way.
    void on_connected(MonoTime now);
    void on_media(MonoTime now);

    // It came to an end of its own. Not told of a run that was interrupted since runs() was false.
    void on_ended(MonoTime now);

    // It may come up now. One that backs off tries at once, but `spacing` behind the try before at
    // the earliest.
    void retry_soon(Millis spacing, MonoTime now);

    // What it runs for is elsewhere now: the run under way should end, and the next one begin.
    // False: none is under way.
    bool begin_anew(MonoTime now);

    // A timeout may be over.
    void tick(MonoTime now) { update(now); }

    // For good.
    void stop(MonoTime now);

    // ---- what to do ----

    // A run should be under way.
    bool runs() const {
        return state_ == SourceState::kConnecting || state_ == SourceState::kWaiting ||
               state_ == SourceState::kLive;
    }

    // When tick() is due; none: never.
    std::optional<MonoTime> next_timeout() const;

    // ---- what it is ----

    SourceState state() const { return state_; }

    // In this state.
    MonoTime since() const { return since_; }

    bool held() const { return held_; }

    // Runs that were begun, and those that ended of their own, since it exists.
    uint64_t attempts() const { return attempts_; }

    uint64_t failures() const { return failures_; }

    // Since it was live for a while.
    uint32_t failures_in_a_row() const { return in_a_row_; }

  private:
    // Behind the last who wanted it and the last who asked.
    MonoTime kept_until() const { return std::max(linger_until_, asked_until_); }

    bool wanted(MonoTime now) const { return !timing_.on_demand || demand_ || now < kept_until(); }

    // Whether somebody is there for whom the next try is made.
    bool is_waited_for() const {
        return !timing_.on_demand || demand_ || retry_at_ < asker_waits_until_;
    }

    void enter(SourceState state, MonoTime now);
    void update(MonoTime now);
    Micros share_of(Micros time);
    Micros backoff();

    SourceTiming timing_;
    RandomSource& random_;
    SourceState state_ = SourceState::kIdle;
    MonoTime since_;
    bool demand_ = false;
    bool held_ = false;
    MonoTime linger_until_{};
    MonoTime asked_until_{};        // kept for who asked
    MonoTime asker_waits_until_{};  // and so long they wait for it
    MonoTime retry_at_{};
    MonoTime tried_at_{};  // when the newest run began
    uint64_t attempts_ = 0;
    uint64_t failures_ = 0;
    uint32_t in_a_row_ = 0;
};

}  // namespace weir::net
