// One player of a group: how it connects and what it receives. An event handler of the reactor,
// whatever its protocol (tcp_player.h, rtc_player.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/tcp.h"

#include "bench/load/core/player_check.h"
#include "bench/load/run_control.h"

namespace weir::load {

// What players tell their run. Called from event handlers: must not yield.
class PlayerListener {
  public:
    virtual void player_broke(class Player& player, const std::string& why) = 0;
    virtual void player_got_media() = 0;

    // Stopped reading by budget though there is more: call read() again from a coroutine.
    virtual void player_has_more(class Player& player) = 0;

    // Is to be woken then (CLOCK_MONOTONIC), once.
    virtual void player_waits(Player& player, uint64_t due_ns) = 0;

  protected:
    ~PlayerListener() = default;
};

class Player {
  public:
    // `listener` and `totals` must outlive it.
    Player(PlayerListener& listener, RunTotals& totals, uint32_t stream)
        : listener_(listener), check_(totals, stream) {}

    Player(const Player&) = delete;
    Player& operator=(const Player&) = delete;
    virtual ~Player() = default;

    // Yields. Connects from that address (null: any) and begins to play; events come in from then
    // on, maybe even before it returns.
    virtual Error connect(const io::SocketAddress* from, io::Deadline deadline) = 0;

    // Reads what is there, within a budget.
    virtual void read() = 0;

    // Whether it may look at its socket by the clock from now on (read_turns.h).
    virtual bool may_rest(uint64_t /*now_ns*/) const { return false; }

    // The reactor forgets its socket, and its delays no longer count in the totals.
    virtual void rest() {}

    // Of a resting player: reads what is there. False: it is closed, or the stream is so fast that
    // it reads at once again.
    virtual bool read_turn() { return false; }

    // The time that it waited for has come.
    virtual void wake() {}

    // Leaves.
    virtual void close() = 0;

    virtual bool connected() const = 0;

    // Brings what it counted by itself into the totals.
    virtual void settle() {}

    // Of the owner's choice: which one this is.
    void set_number(uint32_t number) { number_ = number; }

    uint32_t number() const { return number_; }

    PlayerCheck& check() { return check_; }

    const PlayerCheck& check() const { return check_; }

  protected:
    PlayerListener& listener() { return listener_; }

    // Closes, and tells the listener why.
    void fail(const std::string& why);

    // Tells the listener of the first frame, once.
    void note_media();

  private:
    PlayerListener& listener_;
    PlayerCheck check_;
    uint32_t number_ = 0;
    bool has_media_ = false;
};

// Makes the players of a group where they are not a TCP connection with a PlayClient. One for each
// group.
class PlayerFactory {
  public:
    PlayerFactory() = default;
    PlayerFactory(const PlayerFactory&) = delete;
    PlayerFactory& operator=(const PlayerFactory&) = delete;
    virtual ~PlayerFactory() = default;

    virtual std::unique_ptr<Player> make(PlayerListener& listener,
                                         RunTotals& totals,
                                         uint32_t stream) = 0;

    // Yields. All players are closed: ends what works for them.
    virtual void stop() = 0;
};

}  // namespace weir::load
