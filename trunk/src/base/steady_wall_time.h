// A wall clock that nobody sets.
#pragma once

#include <cstdint>

namespace weir {

// Milliseconds since the epoch: goes on from what the wall clock said when it was first asked,
// whatever becomes of that. For times that players compare over hours.
int64_t steady_wall_time_ms();

}  // namespace weir
