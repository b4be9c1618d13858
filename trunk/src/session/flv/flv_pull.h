// Plays a stream of another server by HTTP-FLV and publishes it here: `source http://....flv`, also
// https://.
#pragma once

#include "net/source/source_run.h"

namespace weir::session {

class FlvPull final : public net::SourceProtocol {
  public:
    // kDenied when the origin answers anything but 200, kClosed when its stream ends, kTimeout when
    // it does not come up or falls silent. Redirects are not followed.
    Error run(net::SourceRun& run) override;
};

}  // namespace weir::session
