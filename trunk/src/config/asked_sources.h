// Sources of streams whose key is an address: players ask for a multicast group or for a stream of
// an RTSP server, and the section says which ones they may ask for. Pure.
#pragma once

#include "base/error.h"
#include "config/config.h"
#include "net/source/source_spec.h"

namespace weir::config {

// Whether players of that section may ask for a stream whose key names a group or a stream of an
// RTSP server. kMalformed; kDenied says which directive would allow it.
Error may_bring(const VhostConfig& section, const stream::StreamKey& key);

// The source of such a stream. kMalformed: the key is no such address; kDenied.
Result<net::SourceSpec> asked_source(const VhostConfig& section, const stream::StreamKey& key);

}  // namespace weir::config
