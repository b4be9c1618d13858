// From `source` and `forward` of the configuration to what net::Sources runs. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "net/source/source_spec.h"

namespace weir::config {

// Takes the name of the stream apart and checks that the source is complete. A sentence for its
// author where it is not; otherwise empty.
std::string complete_source(const VhostConfig& section, SourceConfig& source);

// Of a source that names its stream, and is complete.
net::SourceSpec named_source(const std::string& vhost, const SourceConfig& source);

// Those that name their stream, of all enabled sections.
std::vector<net::SourceSpec> named_sources(const Config& config);

// Of a stream that none names; nothing: nobody brings it.
std::optional<net::SourceSpec> source_for(const Config& config, const stream::StreamKey& key);

// Of a stream that is at another node or process, wherever that is.
net::SourceSpec relay_of(const Config& config, const stream::StreamKey& key);

// Where a stream that is published here is sent.
std::vector<net::SourceSpec> forwards_of(const Config& config, const stream::StreamKey& key);

}  // namespace weir::config
