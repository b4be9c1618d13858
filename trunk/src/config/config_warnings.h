// What is right in a configuration and still worth a word: for `weir -t`, and for the log at start.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace weir::config {

// Sentences that say what is so, and what to do.
std::vector<std::string> config_warnings(const Config& config);

}  // namespace weir::config
