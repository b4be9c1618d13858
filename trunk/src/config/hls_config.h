// hls { } of a vhost or an application.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace weir::config {

enum class HlsContainer : uint8_t { kFmp4, kTs };

struct HlsConfig {
    bool enabled = true;
    HlsContainer container = HlsContainer::kFmp4;
    Millis fragment{2'000};
    Millis part{200};
    uint32_t window = 3;  // target durations
    bool sessions = true;
    bool always = false;
    bool encrypt = false;
    uint32_t rotate = 30;
    std::string path;                   // segments are also written there; empty: they are not
    Millis dvr{0};                      // the playlist reaches so far back; 0: it does not
    std::vector<std::string> variants;  // "APP/STREAM", perhaps with [app] and [stream]

    bool operator==(const HlsConfig&) const = default;
};

}  // namespace weir::config
