// The playing subcommands: one group of players, with or without the publishers of its streams.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "bench/load/load_run.h"
#include "bench/load/play_options.h"
#include "bench/load/play_target.h"

namespace weir::load {

class PlayRun {
  public:
    // `options` must outlive the run. `command`: the subcommand, for the report.
    PlayRun(const PlayOptions& options, std::string command, PlayTarget target);

    // Yields. The whole run; gives the exit code. Streams go to the options' publish_url, or the
    // target's.
    int run();

  private:
    Error start();
    Error publish();
    void play();

    const PlayOptions& options_;
    std::string command_;
    PlayTarget target_;
    std::unique_ptr<LoadRun> run_;
    PlayerGroup* players_ = nullptr;
    std::optional<LimitSearch> search_;
    std::array<bool, 2> stamped_ = {true, true};
    double stream_bits_per_second_ = 0;
};

// Yields. A whole subcommand: arguments, target, run. Gives the exit code.
int play_command(const PlayProtocol& protocol, std::span<const char* const> arguments);

}  // namespace weir::load
