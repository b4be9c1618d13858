// Brings the transport stream of a multicast group, or of a UDP port of this host, as a stream:
// `source udp://239.1.1.1:5000`, `source rtp://...`.
//
// The datagrams are read some milliseconds after they came, many at a time: what costs is waking
// up, not bytes.
#pragma once

#include "base/error.h"
#include "net/source/source_run.h"

namespace weir::session {

class GroupPull final : public net::SourceProtocol {
  public:
    static constexpr Millis kBatch{5};  // datagrams wait so long for others

    // Where the group cannot be joined, the reason; kTimeout when nothing comes that is media;
    // kUnsupported when it is no transport stream.
    Error run(net::SourceRun& run) override;
};

}  // namespace weir::session
