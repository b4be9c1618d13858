// What a stream's tracks are, as JSON: from the codec configuration and the newest key frame,
// parsed when somebody asks.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "base/rate_history.h"
#include "stream/stream.h"

namespace weir::app {

// null without frames. `clock`: of the registry.
nlohmann::ordered_json video_json(const stream::Stream& stream,
                                  const RateClock& clock,
                                  MonoTime now);
nlohmann::ordered_json audio_json(const stream::Stream& stream);

}  // namespace weir::app
