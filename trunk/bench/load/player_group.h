// Players of one protocol against one URL (with %d: several streams, dealt out in turn). A group
// grows while it runs, at once or along a linear ramp; each player may leave after a while. Players
// are event handlers; only connecting takes coroutines, a bounded number at a time.
//
// Driven by LoadRun (load_run.h): grow(), waiting, stop().
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "io/coroutine.h"

#include "bench/load/core/play_sum.h"
#include "bench/load/play_target.h"
#include "bench/load/player.h"
#include "bench/load/read_turns.h"
#include "bench/load/run_control.h"

namespace weir::load {

struct GroupOptions {
    std::string name = "players";    // in reports
    uint32_t streams = 1;            // that the players are spread over, numbers from 0
    Millis connect_timeout{10'000};  // for a connection
    Millis stay{0};                  // a player leaves so long after it has connected; 0: stays
    Millis stall{1'000};             // a gap between frames that counts as a stall
    // How much the mean delay of a player may grow from the first to the last quarter of a window.
    Millis behind{500};
    bool read_at_once = false;                   // all of the players do (read_turns.h)
    bool verify = true;                          // the streams carry stamps
    std::array<bool, 2> stamped = {true, true};  // of these: video and audio do
    bool published_here =
        false;                   // so frames without stamps are a fault, not somebody else's stream
    double bits_per_second = 0;  // of each stream; 0: not known
};

struct GroupCounts {
    uint64_t wanted = 0;     // asked for by grow()
    uint64_t connected = 0;  // connections that were made
    uint64_t refused = 0;    // connections that could not be made
    uint64_t broken = 0;     // of those made: ended by the server or by a fault
    uint64_t left = 0;       // of those made: ended by us, after their stay
    uint64_t had_media = 0;  // received at least one frame
    uint64_t playing = 0;    // of these, still connected

    uint64_t open() const { return connected - broken - left; }

    void add(const GroupCounts& other);
};

class PlayerGroup final : private PlayerListener {
  public:
    PlayerGroup(GroupOptions options, PlayTarget target);
    ~PlayerGroup();  // stop() must have been called if grow() was
    PlayerGroup(const PlayerGroup&) = delete;
    PlayerGroup& operator=(const PlayerGroup&) = delete;

    const GroupOptions& options() const { return options_; }

    const PlayTarget& target() const { return target_; }

    // Begins to start that many more players, spread evenly over `ramp` (0: all at once). A later
    // call's players come after those of an earlier one. Does not wait. kSystem.
    Error grow(uint32_t clients, Millis ramp);

    // Some of the players have not been tried yet.
    bool growing() const { return tried_ < players_.size(); }

    // Nobody is on the way any more: every connection was made or refused, and every player that is
    // connected has had media.
    bool settled() const;

    // Yields. Lets the last `clients` of those connected go, as after their stay.
    void shrink(uint32_t clients);

    // Yields. Ends all. What was counted stays.
    void stop();

    // A measured window begins: window_bytes, the delays and the growth of delays start anew.
    void begin_window();

    // Forgets the times of connecting and of first frames: those of the players to come remain.
    void forget_joins();

    // 1 to 4 within the window, 0 outside.
    void set_quarter(int quarter) { totals_.quarter = quarter; }

    // Walks over all players and brings what each counted by itself into the totals.
    void settle();

    // Walk over all players: once a second is fine, in a loop it is not.
    GroupCounts counts() const;
    PlaySum sum() const;

    struct Behind {
        uint64_t players = 0;  // whose delay grew by more than the option says, or that dried up
        int64_t worst_us = 0;  // the greatest growth
    };

    // Of the last window. A player counts that receives nothing now for longer than a stall, and,
    // with `judge_gaps` (not for a window that was cut short), one that received nothing in the
    // last quarter.
    Behind behind(bool judge_gaps) const;

    RunTotals& totals() { return totals_; }

    const RunTotals& totals() const { return totals_; }

    // Why players were refused or broke, and how many.
    const std::map<std::string, uint64_t>& failures() const { return failures_; }

    struct Client {
        const Player* player = nullptr;
        uint32_t number = 0;
        uint64_t connect_us = 0;
        bool tried = false;
        bool left = false;
        std::string failure;  // why it was refused or broke; empty
    };

    // In order of their numbers. Valid until grow().
    const std::vector<Client>& clients() const { return clients_; }

  private:
    struct Wave {
        uint32_t next = 0;  // number of the next player to start
        uint32_t first = 0;
        uint32_t end = 0;
        MonoTime begin;
        Millis ramp{0};
    };

    struct Leaving {
        MonoTime due;
        uint32_t number = 0;
    };

    struct Waiting {
        uint64_t due_ns = 0;
        uint32_t number = 0;

        bool operator<(const Waiting& other) const { return due_ns > other.due_ns; }
    };

    void player_broke(Player& player, const std::string& why) override;

    void player_got_media() override { had_media_++; }

    void player_has_more(Player& player) override;
    void player_waits(Player& player, uint64_t due_ns) override;

    Error start_helpers();
    bool take_next(uint32_t& number, MonoTime& due);
    void connect_some();
    std::unique_ptr<Player> make_player(uint32_t number);
    bool connect_one(uint32_t number, MonoTime due);
    void count_failure(uint32_t number, const std::string& words);
    void leave(uint32_t number);
    void resume_reading();
    void wake_players();
    void let_leave();

    GroupOptions options_;
    PlayTarget target_;
    SourceAddresses sources_;
    RunTotals totals_;
    Bytes buffer_;  // what a player reads, shared
    std::vector<std::unique_ptr<Player>> players_;
    std::vector<Client> clients_;
    std::deque<Wave> waves_;
    std::deque<Leaving> leaving_;
    std::vector<Player*> unread_;  // stopped reading by budget
    io::Signal unread_signal_;
    std::priority_queue<Waiting> waiting_;  // the first one to wake on top
    io::Signal waiting_signal_;
    ReadTurns turns_;
    io::Signal leaving_signal_;
    io::TaskGroup connectors_;
    io::Coroutine resumer_;
    io::Coroutine waker_;
    io::Coroutine leaver_;
    std::map<std::string, uint64_t> failures_;
    bool has_helpers_ = false;
    bool stopping_ = false;
    uint64_t tried_ = 0;
    uint64_t connected_ = 0;
    uint64_t refused_ = 0;
    uint64_t broken_ = 0;
    uint64_t left_ = 0;
    uint64_t had_media_ = 0;
};

}  // namespace weir::load
