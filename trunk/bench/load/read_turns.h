// ReadTurns: most players of a large group look at their sockets every 100 ms instead of at each
// message, which is what a client of thousands costs: a wake-up, a receive call and an
// acknowledgement per message and player. They check every byte all the same. The others (every
// sixteenth at least) read at once, and the delays in the report are theirs.
#pragma once

#include <cstdint>
#include <vector>

#include "io/coroutine.h"

#include "bench/load/player.h"

namespace weir::load {

class ReadTurns {
  public:
    static constexpr Millis kTurn{100};
    static constexpr uint32_t kSlices = 10;         // of a turn; each has its share of the players
    static constexpr uint32_t kTimedPlayers = 100;  // smaller groups read at once
    static constexpr uint32_t kMaxStride = 16;

    ReadTurns() = default;
    ~ReadTurns();
    ReadTurns(const ReadTurns&) = delete;
    ReadTurns& operator=(const ReadTurns&) = delete;

    // Whether player `number` of a group of `players` reads at once from beginning to end.
    static bool is_timed(uint32_t number, size_t players);

    // The player will rest as soon as it may. It must outlive this, or stop().
    void add(Player& player);

    // Yields.
    void stop();

  private:
    void run();
    void lay_to_rest();
    bool read_slice(uint32_t slice);

    std::vector<Player*> awake_;
    std::vector<Player*> resting_;
    io::Coroutine coroutine_;
    bool started_ = false;
};

}  // namespace weir::load
