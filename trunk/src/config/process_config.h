// `processes N`: what one of several processes of a server has of the configuration. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"
#include "stream/stream_key.h"

namespace weir::config {

inline constexpr uint32_t kMostProcesses = 64;

// Which process brings a stream that nobody publishes here: sources of the configuration are spread
// over all of them.
uint32_t home_of(const stream::StreamKey& key, uint32_t count);

// What cannot be with several processes, as a sentence for the operator; empty: nothing.
std::string check_processes(const Config& config);

// Turns the configuration of the server into that of process `index` of `count`: WebRTC ports one
// behind the other (unless `single_port`), cores one each, what there may be only once (SIP, SRT)
// in the first one. Whatever belongs to the server as a whole, as its `pid`, is
// the supervisor's.
void fit_to_process(Config& config, uint32_t index, uint32_t count);

}  // namespace weir::config
