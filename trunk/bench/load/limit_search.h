// "Find the limit": players are added step by step until a condition holds or a step is not held;
// the largest load held is the result.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/load/load_run.h"

namespace weir::load {

struct LimitOptions {
    std::string until;         // the condition that ends it; empty: no search
    std::string step = "10%";  // players more in each step: a number, or a share of those there are
    Millis hold{5'000};        // how long each step is measured
    Millis settle{1'000};      // after its last player has media, before it is measured
    uint32_t max_clients = 10'000;

    void add_to(OptionTable& table);

    bool wanted() const { return !until.empty(); }
};

// "100" or "10%": how a step grows.
struct LimitStep {
    uint32_t players = 0;  // 0: by percent
    double percent = 0;

    static Result<LimitStep> parse(std::string_view text);

    // The number of players of the step after one with `players`; at least one more.
    uint32_t next(uint32_t now) const;
};

class LimitSearch {
  public:
    // kMalformed: the condition or the step. `run`: with the publishers and an empty group.
    static Result<LimitSearch> create(const LimitOptions& options, const RunOptions& run_options);

    // Yields. Begins with `first` players, each step started over `ramp` (0: one second). Adds the
    // table of steps to the report, which then is about the largest load held, and the condition
    // that there is one.
    void search(
        LoadRun& run, PlayerGroup& players, uint32_t first, Millis ramp, Millis settle_timeout);

  private:
    struct Step {
        uint32_t clients = 0;
        MetricValues metrics;
        std::string broke;  // why it was not held; empty: it was
    };

    LimitSearch(LimitOptions options, Expression until, LimitStep step)
        : options_(std::move(options)), until_(std::move(until)), step_(step) {}

    Step take_step(
        LoadRun& run, PlayerGroup& players, uint32_t clients, Millis ramp, Millis settle_timeout);
    std::string verdict(const LoadRun::Window& window, const GroupCounts& before) const;
    void add_to(LoadRun& run, const std::string& end) const;

    LimitOptions options_;
    Expression until_;
    LimitStep step_;
    std::vector<Step> steps_;
    std::unique_ptr<LoadRun::Window> last_;  // of the last step
    std::unique_ptr<LoadRun::Window> held_;  // of the last one that was held
};

}  // namespace weir::load
