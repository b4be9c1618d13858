// One run: groups of players and of publishers, a measured window, the report. Subcommands and
// scenarios drive it: add_publishers(), add_players(), grow(), wait_settled(), measure(), finish().
// While it waits it samples and shows progress. Several windows may follow one another; the report
// is about the last one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/play_report.h"
#include "bench/load/player_group.h"
#include "bench/load/publishers.h"
#include "bench/load/run_control.h"

namespace weir::load {

class LoadRun {
  public:
    // `options` must outlive it. `command` and `target`: for the report. Fails when the server's
    // process cannot be looked at.
    static Result<std::unique_ptr<LoadRun>> create(const RunOptions& options,
                                                   std::string command,
                                                   std::string target);
    ~LoadRun();  // stop() or finish() must have been called
    LoadRun(const LoadRun&) = delete;
    LoadRun& operator=(const LoadRun&) = delete;

    RunControl& control() { return *control_; }

    // False when the run was stopped: Ctrl+C, or nobody is left.
    bool running() const { return !control_->stopped(); }

    // Yields. Starts the publishers over `ramp` and waits until all publish. The group is stopped
    // with the run, or earlier by its owner's call. An error: one was refused, or none of them came
    // through in time (the options' connect_timeout behind the ramp).
    Error add_publishers(std::unique_ptr<PublisherGroup> group, Millis ramp);

    // A group without players yet. Valid as long as the run.
    PlayerGroup& add_players(GroupOptions options, PlayTarget target);

    // Starts that many more players of the group, spread over `ramp`. Does not wait. kLimit: too
    // few descriptors.
    Error grow(PlayerGroup& group, uint32_t clients, Millis ramp);

    // What happens now: for the progress line and the plots.
    void phase(std::string_view name);

    // Yields. Waits, samples and shows progress; false when the run was stopped before.
    bool wait_until(io::Deadline deadline);

    bool wait_for(Millis delay) { return wait_until(io::Deadline::after(delay)); }

    // Yields. Until every player that was asked for has connected or was refused.
    bool wait_connected();

    // Yields. Until, besides, each that is connected has had media, or the deadline passed. True
    // when all have.
    bool wait_settled(io::Deadline deadline);

    // Yields. The measured window: quarters of `duration` each, from which growing delays are told.
    // Ends early when the run is stopped, and, if `until_empty`, when nobody is connected any more.
    void measure(Millis duration, bool until_empty = true);

    // What has been measured in the last window.
    PlayResult result() const;

    // Yields. Ends all players and publishers; the report keeps what was seen.
    void stop();

    // Yields. Ends all, prints and writes the report; gives the exit code.
    int finish();

    Report& report() { return report_; }

  private:
    LoadRun(const RunOptions& options, std::string command, std::string target);

    void begin_window();
    void end_window();
    void tick();
    void show_progress(uint64_t now);
    void make_report();
    uint64_t open_players() const;
    void stop_when_empty();

    const RunOptions& options_;
    Report report_;
    std::unique_ptr<RunControl> control_;
    UsageProbe usage_;
    std::vector<std::unique_ptr<PlayerGroup>> players_;
    std::vector<std::unique_ptr<PublisherGroup>> publishers_;
    PlayResult result_;
    std::string phase_ = "starting";
    bool started_ = false;  // a player was asked for
    bool ended_ = false;
    bool cut_short_ = false;  // the window
    uint64_t progress_bytes_ = 0;
    uint64_t progress_ns_ = 0;
    uint64_t window_begin_ns_ = 0;
};

}  // namespace weir::load
