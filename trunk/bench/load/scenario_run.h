// Carries a scenario out: publishers, then phase after phase, each a measured window with players
// that come and go in it; the conditions of each phase, and of the whole in the end.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/load/core/scenario.h"
#include "bench/load/load_run.h"

namespace weir::load {

class ScenarioRun {
  public:
    // `scenario` must outlive the run. Of `options`, what the scenario says itself (duration, the
    // time for connections) does not count; a server that they name comes first.
    ScenarioRun(const Scenario& scenario, RunOptions options);

    // Yields. The whole run; gives the exit code.
    int run();

  private:
    Error start();
    Error check_server_conditions() const;
    uint64_t descriptors() const;
    Error start_publishers();
    Error make_groups();
    void play(const ScenarioPhase& phase);
    void take_steps(const ScenarioPhase& phase, MonoTime begin);
    void take_step(const ScenarioStep& step);
    void stop_when_hopeless();
    void report_phase(const ScenarioPhase& phase);
    void add_to_whole(const LoadRun::Window& window);
    void judge_whole();

    const Scenario& scenario_;
    RunOptions options_;
    std::unique_ptr<LoadRun> run_;
    UsageProbe usage_;                               // of the whole
    std::vector<const PublisherGroup*> publishers_;  // in order of the scenario; the run's
    std::vector<PlayerGroup*> groups_;
    LoadRun::Window whole_;
    uint64_t phases_played_ = 0;
    std::string problem_;  // why players could not be started; empty
    std::string phases_json_;
    std::vector<std::pair<std::string, std::string>> lines_;  // of each phase, by name
};

}  // namespace weir::load
