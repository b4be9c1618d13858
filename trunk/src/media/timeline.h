// Maps a publisher's 32-bit millisecond timestamps to the one timeline of a stream, which never
// restarts.
//
// One shift for all tracks. A new publisher, a step back of more than a second and a jump ahead
// that real time does not explain move the shift, so that the stream goes on kFrameGap after its
// last frame; a publisher that was only one stray frame away gets its shift back. Smaller steps
// back within a track are clamped: RTMP's chunk deltas cannot go back (doc/adr/0005-fan-out.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "media/codec.h"

namespace weir::media {

class Timeline {
  public:
    static constexpr int64_t kStart =
        10'000;  // first time of a stream: room for a track that begins earlier
    static constexpr int64_t kFrameGap =
        40;  // after a discontinuity, when no frame interval is known
    static constexpr int64_t kMaxStepBack = 1'000;  // more is a restart of the publisher's clock
    static constexpr int64_t kMaxJumpAhead =
        10'000;  // beyond the real time that passed; more is a restart as well

    // A new publisher takes over: its first frame continues the timeline.
    void rebase() { rebase_ = started_; }

    // Stream time (ms) of a frame of a track. `now` is its arrival.
    int64_t map(TrackKind track, uint32_t timestamp, MonoTime now);

    // Latest time handed out, over all tracks; kStart before the first.
    int64_t latest() const { return latest_; }

    bool started() const { return started_; }

    // How often the publisher's clock had to be corrected.
    uint64_t shifts() const { return shifts_; }

    uint64_t clamps() const { return clamps_; }

  private:
    void shift_to(int64_t unwrapped, int64_t wanted);
    bool returns_to_previous(int64_t unwrapped, int64_t elapsed_ms) const;

    bool started_ = false;
    bool rebase_ = false;
    int64_t unwrapped_ = 0;  // the publisher's last time, widened to 64 bits
    int64_t shift_ = 0;
    std::optional<int64_t> previous_shift_;  // of the same publisher
    int64_t latest_ = kStart;
    int64_t interval_ = kFrameGap;  // last distance between video frames
    MonoTime last_arrival_{};
    std::array<int64_t, 2> last_{kStart - kMaxStepBack, kStart - kMaxStepBack};
    std::array<bool, 2> seen_{};
    uint64_t shifts_ = 0;
    uint64_t clamps_ = 0;
};

}  // namespace weir::media
