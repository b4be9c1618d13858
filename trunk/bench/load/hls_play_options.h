// What only HLS players have as options.
#pragma once

namespace weir::load {

struct HlsPlayRunOptions {
    bool plain = false;  // no low latency
};

}  // namespace weir::load
