// What the configuration says of a stream and of who publishes it.
#pragma once

#include <cstdint>

namespace weir::stream {

enum class PublishConflict : uint8_t { kRefuse, kTakeover };

struct StreamOptions {
    // Of memory; past it no GOP is kept: new players wait for the next key frame.
    uint64_t gop_cap_bytes = 32u << 20;
    // Players are told the wall clock of a publisher that gives it, in place of the server's.
    bool publisher_clock = false;
};

}  // namespace weir::stream
