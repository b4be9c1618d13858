// Secrets of the configuration that a protocol needs as they are.
#pragma once

#include <string>

#include "base/error.h"
#include "config/access_config.h"

namespace weir::app {

// Blocks where it is in a file: for a worker. The text, or the first line of the file without
// blanks at its ends; at most 4 KiB of it. Errors of opening.
Result<std::string> read_secret(const config::SecretSource& source);

}  // namespace weir::app
