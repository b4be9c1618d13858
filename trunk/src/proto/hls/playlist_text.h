// Values of playlists, as RFC 8216 §4.2 writes them.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace weir::hls {

// A decimal-floating-point, in seconds.
inline std::string seconds(int64_t ms) {
    return fmt::format("{}.{:03}", ms / 1000, ms % 1000);
}

}  // namespace weir::hls
