// How long whoever asks for a stream may wait for it.
#pragma once

#include "base/clock.h"

namespace weir::net {

// For a source that was started for somebody: connection and first media. Players of a stream that
// a source brings wait so long at least, whatever wait_publisher says.
inline constexpr Millis kSourceWait{10'000};

}  // namespace weir::net
