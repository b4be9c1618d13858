// StreamThrottle: lines of the log about streams that clients name at will. One line per stream and
// kPerStream, and one per kOverall for all streams together. Never yields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "stream/stream_key.h"

namespace weir::net {

class StreamThrottle {
  public:
    static constexpr Millis kPerStream{60'000};
    static constexpr Millis kOverall{1'000};
    static constexpr size_t kMaxStreams = 1'000;  // that are remembered

    // True when the caller may log now; rest() is the end of its line then.
    bool allow(const stream::StreamKey& key, MonoTime now);

    // " (3 more were not logged)", of all streams since the line before; empty where there are
    // none.
    std::string rest() const;

  private:
    std::map<stream::StreamKey, MonoTime> next_;  // when a stream may have its next line
    log::Throttle all_{kOverall};
    uint64_t swallowed_ = 0;
    uint64_t reported_ = 0;
};

}  // namespace weir::net
