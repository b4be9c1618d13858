// Values of playlists, as RFC 8216 §4.2 writes them.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace weir::hls {

// A decimal-floating-point, in seconds.
inline std::string seconds(int64_t ms) {
    return fmt::format("{}.{:03}", ms / 1000, ms % 1000);
}

// §4.3.2.6, in UTC.
inline std::string date_time(int64_t wall_ms) {
    const std::time_t whole = wall_ms / 1000;
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(whole), wall_ms % 1000);
}

}  // namespace weir::hls
