// What the configuration says of HLS, for a stream; and how the session asks for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/segments/part_writer.h"
#include "net/segments/segment_store.h"
#include "stream/stream_key.h"

namespace weir::session {

struct HlsOptions {
    static constexpr size_t kMaxBegun = 10'000;

    bool enabled = true;
    net::SegmentContainer container = net::SegmentContainer::kMp4;
    net::SegmentOptions segments;
    // Each viewer has an id in the addresses of its playlist, so that it is counted and told to
    // hooks. Off, the addresses are the same for all, and caches can keep what is behind them.
    bool sessions = true;
    // Sessions of one address that have asked once only: whoever asks for the first playlist again
    // and again does not take all places. No directive.
    size_t max_begun = kMaxBegun;
    // Segments are made from the publish on, not from the first viewer on.
    bool always = false;
    // Segments are also written into this folder; empty: they are not.
    std::string path;
    int64_t dvr_ms = 0;  // the playlist reaches so far back, by what is on the disk; 0: it does not
    // Streams that are other qualities of this one; those that are live stand in its multivariant
    // playlist, behind itself.
    std::vector<stream::StreamKey> variants;
};

// Implemented by app/. Never yields.
class HlsRules {
  public:
    virtual HlsOptions hls_options(const stream::StreamKey& key) const = 0;

  protected:
    ~HlsRules() = default;
};

}  // namespace weir::session
