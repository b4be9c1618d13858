// One player: its socket, its protocol client and its check. An event handler of the reactor.
#pragma once

#include <cstdint>
#include <memory>

#include "io/reactor.h"
#include "io/tcp.h"

#include "bench/load/core/play_client.h"
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

  protected:
    ~PlayerListener() = default;
};

class Player final : private io::EventHandler {
  public:
    Player(PlayerListener& listener, RunTotals& totals, std::span<uint8_t> buffer, uint32_t stream)
        : listener_(listener), buffer_(buffer), check_(totals, stream) {}

    // Takes the connection over; requests go out and events come in from now on.
    void attach(std::unique_ptr<io::TcpStream> stream, std::unique_ptr<PlayClient> client);

    // Reads what is there, within a budget.
    void read();

    // It has begun to play and may look at its socket by the clock from now on (read_turns.h).
    bool may_rest(uint64_t now_ns) const;

    // The reactor forgets its socket, and its delays no longer count in the totals.
    void rest();

    // Of a resting player: reads what is there. False: it is closed, or the stream is so fast that
    // it reads at once again.
    bool read_turn();

    void close();

    bool connected() const { return stream_ != nullptr; }

    bool started() const { return started_; }

    // Of the owner's choice: which one this is.
    void set_number(uint32_t number) { number_ = number; }

    uint32_t number() const { return number_; }

    PlayerCheck& check() { return check_; }

    const PlayerCheck& check() const { return check_; }

  private:
    void on_ready(uint8_t ready) override;
    bool read_once(size_t& bytes);
    bool flush();
    void fail(const std::string& why);

    PlayerListener& listener_;
    std::span<uint8_t> buffer_;  // shared by all players
    std::unique_ptr<io::TcpStream> stream_;
    std::unique_ptr<PlayClient> client_;
    PlayerCheck check_;
    uint32_t number_ = 0;
    bool started_ = false;
    bool has_media_ = false;
    bool restless_ = false;
};

}  // namespace weir::load
