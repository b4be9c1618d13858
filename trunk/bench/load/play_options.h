// Options of the playing subcommands.
#pragma once

#include <string>

#include "bench/load/limit_search.h"
#include "bench/load/play_target.h"
#include "bench/load/player_group.h"
#include "bench/load/publishers.h"
#include "bench/load/run_control.h"

namespace weir::load {

struct PlayOptions {
    RunOptions run;
    std::string url;
    std::string publish_url;  // empty: what the target says
    uint32_t clients = 100;
    Millis ramp{0};
    Millis warm_up{0};   // from the publishers' start to the first player; 0: a GOP, 2 s at most
    Millis settle{0};    // between everybody's first frame and the measured window
    GroupOptions group;  // but for streams and connect_timeout, which are those below
    LimitOptions limit;
    ProtocolOptions protocol;
    uint64_t expected_rate = 0;  // of each stream, when somebody else publishes; 0: not known
    StreamOptions stream;        // bits_per_second 0: does not publish

    PlayOptions() { stream.shape.bits_per_second = 0; }

    void add_to(OptionTable& table);
};

}  // namespace weir::load
