// How the times of a stream's other qualities and its own go together, for DASH: a player that
// switches shows the next picture of the other quality, so both need one presentation timeline.
// Never yields.
//
// Each stream has a timeline of its own, which begins with its first frame at this server, and a
// quality that is encoded from the stream arrives later. So the same picture is found by key
// frames, which an encoder gives all qualities at the same pictures, and among several by when
// they arrived. Assumed: a quality arrives at most kMaxLateMs after the stream itself, and at most
// kMaxEarlyMs before it. Key frames of GOPs that are shorter than both together may be taken for
// each other: then equal stream times, as one encoder's streams have them, decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "net/segments/segment_store.h"

namespace weir::session {

// When key frames that begin segments are shown, in the time of their stream (ms).
using LadderKeys = std::vector<int64_t>;

// What of another quality has arrived, and of the stream itself.
struct LadderLead {
    // Time of its newest frame less that of the stream's newest frame, each in its own time.
    int64_t lead_ms = 0;
    // Both have been live for a while: what begins with frames that were kept looks late.
    bool settled = true;
};

// How long a quality has to be live before arrival says anything.
inline constexpr Millis kLadderSettles{5'000};
inline constexpr int64_t kMaxLateMs = 1'500;
inline constexpr int64_t kMaxEarlyMs = 500;
// Where none of so many key frames of both agree, the encoder did not align them: then equal times
// of arrival are the best guess.
inline constexpr size_t kEnoughKeys = 3;

// Those of the segments of one format. `format`: SegmentFormat::id.
LadderKeys ladder_keys(const net::SegmentStore& store, uint64_t format);

// The stream time of a picture in `other` less that of the same picture in `home`, in ms. Nothing:
// it is not known yet; one that turns out to be wrong would have to change.
std::optional<int64_t> ladder_offset_ms(const LadderKeys& home,
                                        const LadderKeys& other,
                                        const LadderLead& lead);

// What players were told, which does not change as long as the formats are the same.
class DashLadder {
  public:
    struct Pair {
        uint64_t home = 0;  // SegmentFormat::id
        size_t variant = 0;
        uint64_t other = 0;

        auto operator<=>(const Pair&) const = default;
    };

    // As ladder_offset_ms(). No `lead`: only what is known already. The stores are those of both
    // formats of `pair`.
    std::optional<int64_t> offset_ms(const Pair& pair,
                                     const net::SegmentStore& home,
                                     const net::SegmentStore& other,
                                     const std::optional<LadderLead>& lead);

    // Formats of the stream before this one are not described any more.
    void forget_before(uint64_t home) {
        offsets_.erase(offsets_.begin(), offsets_.lower_bound({home, 0, 0}));
    }

    size_t size() const { return offsets_.size(); }

  private:
    static constexpr size_t kMaxPairs = 256;  // the oldest are forgotten

    std::map<Pair, int64_t> offsets_;
};

}  // namespace weir::session
