// Brings the transport stream of a multicast group, or of a UDP port of this host, as a stream:
// `source udp://239.1.1.1:5000`, `source rtp://...`, and the groups that players of
// /udp/239.1.1.1:5000 ask for.
//
// The bytes are published as they came, where somebody takes them so, and taken apart to frames
// where somebody wants frames. One socket serves all. It is read by a timer, many datagrams at a
// time: what costs is waking up and writing to players, not bytes.
#pragma once

#include <functional>

#include "base/error.h"
#include "net/source/source_run.h"
#include "session/ts/fast_change_hints.h"

namespace weir::stream {
class Stream;
}

namespace weir::session {

// The players of a stream.
using PlayerCount = std::function<size_t(const stream::Stream&)>;

class GroupPull final : public net::SourceProtocol {
  public:
    // Datagrams wait so long for others; the longer, the more players are written to each time.
    static constexpr Millis kShortestBatch{5};
    static constexpr Millis kLongestBatch{50};
    static constexpr size_t kPlayersPerBatch = 20;  // up to so many wait kShortestBatch
    // Nothing comes: it is looked for so often.
    static constexpr Millis kIdleBatch{25};
    static constexpr Millis kIdle{1'000};

    // Frames are made so much longer than somebody wants them.
    static constexpr Millis kFramesLinger{10'000};
    // More of what is kept is not taken apart again for the first who wants frames.
    static constexpr uint64_t kMaxReplayBytes = 8 * 1024 * 1024;

    // Between the unicast of a fast channel change and the group.
    static constexpr Millis kOverlapPatience{1'000};

    // `hints` must outlive this.
    GroupPull(PlayerCount players, FastChangeHints& hints)
        : players_(std::move(players)), hints_(hints) {}

    // How often groups are joined again, from now on; 0: never.
    void join_again_each(Millis period) { join_again_ = period; }

    Millis join_again_period() const { return join_again_; }

    // Where the group cannot be joined, the reason; kTimeout when nothing comes that is media;
    // kUnsupported when it is no transport stream.
    Error run(net::SourceRun& run) override;

    // How long datagrams wait where there are so many players.
    static Millis batch_for(size_t players);

    FastChangeHints& hints() const { return hints_; }

    size_t players_of(const stream::Stream& stream) const { return players_(stream); }

  private:
    PlayerCount players_;
    FastChangeHints& hints_;
    Millis join_again_{0};
};

}  // namespace weir::session
