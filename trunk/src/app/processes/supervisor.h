// The supervisor of `processes N`: holds the listeners, starts N processes, each a whole server,
// and begins one anew that has ended. It has no media, no coroutines and no HTTP.
//
//   SIGTERM, SIGINT  to all; those that have not ended in time are killed
//   SIGQUIT          to all: drain. The end is when the last one has ended
//   SIGHUP           the configuration is checked here; if it is good, to all
//   SIGUSR1          to all, and the own log
#pragma once

#include "app/run/load.h"
#include "app/run/log_setup.h"

namespace weir::app {

// `arguments`: those of the command line, for the processes. Blocks until all have ended; the exit
// code of the program. The log writer's thread may be there, and no other.
int supervise(const ConfigSource& source,
              const config::Config& config,
              char** arguments,
              LogSetup& log);

}  // namespace weir::app
