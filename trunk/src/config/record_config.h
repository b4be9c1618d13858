// record { } of a vhost or an application.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace weir::config {

enum class RecordContainer : uint8_t { kMp4, kFlv, kTs };

struct RecordConfig {
    bool enabled = false;
    std::string path;  // empty: nothing can be recorded
    RecordContainer format = RecordContainer::kMp4;
    std::string name;
    Millis fragment{2'000};
    Millis split{0};  // 0: not by time
    uint64_t split_size = 0;
    bool split_midnight = false;
    Millis keep{0};  // 0: any time
    uint64_t keep_bytes = 0;
    uint64_t min_free = 0;
    bool play = false;

    bool operator==(const RecordConfig&) const = default;
};

}  // namespace weir::config
