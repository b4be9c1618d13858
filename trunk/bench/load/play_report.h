// What the players of a run, or of one of its groups, add to the report: rows and the conditions
// that hold by default.
#pragma once

#include <map>
#include <string>

#include "bench/load/core/report.h"
#include "bench/load/player_group.h"

namespace weir::load {

struct PlayResult {
    GroupCounts clients;
    PlaySum media;     // from the first frame on, but for window_bytes
    RunTotals totals;  // delays: of the window
    PlayerGroup::Behind behind;
    std::map<std::string, uint64_t> failures;
    double window_s = 0;
    // Of WebRTC players: frames lost within the window. Before it, a new player that begins with
    // the start of a GOP may be moved to the next one, which no packet is lost by.
    uint64_t lost_in_window = 0;
    double expected_bps = 0;   // 0: not known
    double jitter_sum_us = 0;  // over the players that had media
    uint64_t jitter_max_us = 0;
    uint64_t jitter_players = 0;
    bool verify = false;     // lost, changed and late frames can be told, of one group at least
    std::string unverified;  // what cannot be verified, and why; empty: everything is
    Millis behind_limit{500};

    // Merges what a group has seen. `judge_gaps`: see PlayerGroup::behind().
    void add(const PlayerGroup& group, bool judge_gaps);

    double bits_per_second() const;

    double jitter_mean_us() const;
};

// Adds up the distributions.
void merge(RunTotals& sum, const RunTotals& other);

// Sections "clients", "media" and "latency".
void add_rows(Report& report, const PlayResult& result);

// The conditions that hold unless the user drops them.
void add_default_conditions(Report& report, const PlayResult& result);

// A JSON object for each player of the group, on a line of its own, behind what `list` has.
void append_clients(std::string& list, const PlayerGroup& group);

}  // namespace weir::load
