// PublishRules and PlayRules: what the configuration says of one publisher and of one player;
// Policy gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "io/stream_options.h"
#include "stream/stream_options.h"

namespace weir::net {

struct PublishRules {
    stream::PublishConflict conflict = stream::PublishConflict::kRefuse;
    stream::StreamOptions stream;
    Millis first_packet{20'000};       // from the publish command to the first media message
    Millis silent{10'000};             // a publisher that sends no media for this long has vanished
    uint64_t max_bits_per_second = 0;  // one that sends more is ended; 0: any rate
};

struct PumpOptions {
    std::optional<Millis>
        merge_window;  // how long media may be held back; none: the automatic window of the process
    Millis queue_length{10'000};       // a player further behind is moved to the newest key frame
    uint64_t queue_bytes = 16u << 20;  // the same in bytes
    Millis write_stall{20'000};        // a peer that takes nothing for this long is closed
    Millis wait_publisher{30'000};     // a player waits this long for a (new) publisher
};

struct PlayRules {
    size_t max_players = 0;  // of the stream; 0: any number
    PumpOptions pump;
    stream::StreamOptions stream;
    io::StreamOptions socket;
};

}  // namespace weir::net
