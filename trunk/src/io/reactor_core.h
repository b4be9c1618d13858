// Private to io/: the start of the reactor and what the runtime reports about it.
#pragma once

#include "base/error.h"
#include "io/runtime.h"

namespace weir::io {

// Makes the epoll instance and spawns the reactor's coroutine.
Error start_reactor();

// Fills in the reactor's part.
void add_reactor_stats(RuntimeStats& stats);

}  // namespace weir::io
