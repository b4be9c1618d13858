// One run: groups of players and of publishers, a measured window, the report. Subcommands and
// scenarios drive it: add_publishers(), add_players(), grow(), wait_settled(), measure(), finish().
// While it waits it samples and shows progress. Several windows may follow one another; the report
// is about the last one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/deadline.h"

#include "bench/load/core/condition.h"
#include "bench/load/core/html_report.h"
#include "bench/load/core/time_series.h"
#include "bench/load/play_report.h"
#include "bench/load/player_group.h"
#include "bench/load/publishers.h"
#include "bench/load/run_control.h"
#include "bench/load/usage_probe.h"

namespace weir::load {

// The condition; kMalformed, or kUnsupported when it needs the server's figures and the options
// name no server. `option`: where it came from, for the message.
Result<Expression> parse_condition(std::string_view text,
                                   const RunOptions& options,
                                   std::string_view option);

class LoadRun {
  public:
    // Yields. `options` must outlive it. `command` and `target`: for the report. Fails when the
    // server's process cannot be looked at, or a condition of the options is wrong or needs figures
    // of a server that is not named.
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
    // through in time (the options' connect_timeout behind the ramp). No error when the run was
    // stopped meanwhile: look at running().
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

    // What was measured: for the report, for conditions. A copy may be kept and given back.
    struct Window {
        PlayResult result;
        MetricValues metrics;
        UsageProbe usage;
    };

    // The last one.
    const Window& window() const { return window_; }

    // The report is about this one instead.
    void report_about(Window window) { window_ = std::move(window); }

    // The times of connecting and of first frames are those of players that come from now on.
    void forget_joins();

    // Adds a condition to the report, judged by the last window. What is not known is not met.
    void expect(const Expression& condition, std::string_view key = "expect");

    // The conditions that hold by default count, as the options say, unless this is called.
    void drop_default_conditions() { default_conditions_ = false; }

    const TimeSeries& series() const { return series_; }

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
    void sample(uint64_t now);
    void show_progress(const TimeSample& sample, const GroupCounts& clients, const PlaySum& sum);
    void make_report();
    void stop_when_empty();
    MetricValues metrics() const;
    double expected_rate() const;
    void expect_more(uint64_t now);
    double since_start(uint64_t now) const;

    const RunOptions& options_;
    Report report_;
    std::unique_ptr<RunControl> control_;
    UsageProbe usage_;
    std::vector<std::unique_ptr<PlayerGroup>> players_;
    std::vector<std::unique_ptr<PublisherGroup>> publishers_;
    std::vector<Expression> conditions_;
    RunFacts facts_;
    TimeSeries series_;
    Window window_;
    PlaySum at_window_begin_;
    std::string phase_ = "starting";
    bool default_conditions_ = true;
    bool started_ = false;   // a player was asked for
    bool measured_ = false;  // a window
    bool ended_ = false;
    bool cut_short_ = false;  // the window
    double last_window_s_ = 0;
    uint64_t began_ns_ = 0;
    uint64_t sampled_ns_ = 0;
    PlaySum sampled_;  // what the last sample saw
    uint64_t window_begin_ns_ = 0;
    // What the players of the window should have received, while they were there.
    double expected_bits_ = 0;
    uint64_t expected_at_ns_ = 0;
    bool expected_known_ = true;
};

}  // namespace weir::load
