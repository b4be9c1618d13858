// From a file and the environment to a configuration that this machine can have: what start, reload
// and `weir -t` share.
#pragma once

#include <optional>
#include <string>

#include "app/processes/process_seat.h"
#include "config/config.h"

namespace weir::app {

// Where the configuration comes from, for as long as the process lives.
struct ConfigSource {
    std::string file;
    config::Environment environment;  // as the process was started with it
    // Of the start: whether all processes have one port for WebRTC, whatever a reload says.
    std::optional<bool> single_port;
    ProcessSeat seat;    // of several processes of one server, which one
    bool alone = false;  // a server that runs as one process stays that
};

struct LoadedConfig {
    config::ParseOutcome outcome;
    std::string signature;  // of outcome.watched, just after they were read
};

// Blocks on disk: at start, or on a worker. Reads all files, applies the environment, looks whether
// the cores are there, certificates and secrets can be read, and what protocols take from the
// environment is good.
LoadedConfig load(const ConfigSource& source);

// Changes when one of the files does, when one comes or goes, and when a pattern matches others.
// Editors that write a new file and rename it are seen too. Blocks on disk.
std::string signature_of(const std::vector<std::string>& watched);

}  // namespace weir::app
