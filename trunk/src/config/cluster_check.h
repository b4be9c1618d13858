// What the directives of `cluster { }` must be besides their types, and together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/cluster_config.h"

namespace weir::config {

struct ClusterProblem {
    std::string_view directive;  // that it is to be reported at
    std::string message;         // "found ..., expected ..."; never shows a secret
};

std::vector<ClusterProblem> check_cluster(const ClusterConfig& cluster);

}  // namespace weir::config
