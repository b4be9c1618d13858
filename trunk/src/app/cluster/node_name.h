// The name of this node, by which the others know it.
#pragma once

#include <string>

#include "config/config.h"

namespace weir::app {

// That of the configuration, else of the host, with what a name may not have replaced by dashes;
// of one of several processes with its number ("media-1-p2").
std::string node_name(const config::Config& config);

// That of the host alone.
std::string machine_name();

}  // namespace weir::app
