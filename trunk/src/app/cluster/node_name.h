// The name of this node, by which the others know it.
#pragma once

#include <string>

#include "config/cluster_config.h"

namespace weir::app {

// That of the configuration, else of the host, with what a name may not have replaced by dashes.
std::string node_name(const config::ClusterConfig& cluster);

}  // namespace weir::app
