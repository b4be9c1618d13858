// What a start opens besides its ports: looked at by `weir -t`, so that what is good there starts.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "config/config.h"

namespace weir::app {

// Blocks on disk. log_file and pid are opened as the start opens them, and what did not exist is
// gone again afterwards.
struct StartCheck {
    std::vector<Diagnostic> errors;
    std::vector<std::string> warnings;  // the server would start, but not serve that
};

StartCheck check_start(const config::Config& config);

// Writes the process id; gives the open file. kSystem says what to do.
Result<int> write_pid_file(const std::string& path);

// Takes the file away, or empties it where this user may not.
void remove_pid_file(const std::string& path);

}  // namespace weir::app
