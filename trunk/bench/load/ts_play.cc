// weir-bench ts-play.
#include "bench/load/play_run.h"
#include "bench/load/play_target.h"
#include "bench/load/subcommand.h"

namespace weir::load {

int ts_play(std::span<const char* const> arguments) {
    return play_command(*find_play_protocol("ts-play"), arguments);
}

}  // namespace weir::load
