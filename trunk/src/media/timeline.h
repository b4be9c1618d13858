// Maps a publisher's 32-bit millisecond timestamps to the one timeline of a stream, which never
// restarts.
//
// Each track has a shift, the same for both as long as the publisher keeps them on one clock. A new
// publisher, a step back that no reordering explains and a step ahead that no time that passed
// explains move the shift of the track, so that it goes on a frame after its last one. The other
// track steps at another frame: it then takes the same shift, and both are in step as before. A
// track whose clock begins anew by itself keeps a shift of its own; a publisher that was only one
// stray frame away gets its shift back. Smaller steps back within a track are clamped: RTMP's chunk
// deltas cannot go back (doc/adr/0005-fan-out.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "media/codec.h"

namespace weir::media {

class Timeline {
  public:
    static constexpr int64_t kStart = 10'000;    // first time of a stream
    static constexpr int64_t kHeadroom = 5'000;  // so much earlier the other track may begin
    static constexpr int64_t kFrameGap = 40;     // after a step, when no frame interval is known
    // More is a step of the publisher's clock, and not pictures whose times are those of their
    // presentation; or four frames, where those are longer.
    static constexpr int64_t kMaxStepBack = 250;
    static constexpr int64_t kStepBackFrames = 4;
    // Beyond the time that passed, and ahead of all frames so far by their times and arrivals; or
    // eight frames, where those are longer. What was held up and comes at once is late, not ahead.
    static constexpr int64_t kMaxStepAhead = 1'500;
    static constexpr int64_t kStepAheadFrames = 8;
    // The same while a track has so few frames that its pace is not known; and how far apart the
    // clocks of two tracks may begin.
    static constexpr int64_t kMaxFirstStepAhead = 10'000;
    static constexpr uint32_t kFramesForPace = 8;

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
    struct Track {
        bool seen = false;
        uint32_t frames = 0;    // of this publisher; no more are counted than matter
        int64_t unwrapped = 0;  // the publisher's last time, widened to 64 bits
        int64_t shift = 0;
        std::optional<int64_t> previous_shift;
        int64_t interval = kFrameGap;  // last distance between frames
        int64_t last = kStart - kHeadroom;
        MonoTime arrival{};
    };

    void begin(Track& track, const Track& other, uint32_t timestamp, MonoTime now);
    void follow(Track& track, const Track& other, uint32_t timestamp, MonoTime now);
    static bool fits(const Track& track, int64_t shift, int64_t elapsed_ms);
    void step(Track& track, const Track& other, int64_t elapsed_ms);
    bool is_ahead(const Track& track, int64_t distance, int64_t elapsed_ms, MonoTime now) const;
    void note_lead(int64_t time, MonoTime now);

    bool started_ = false;
    bool rebase_ = false;
    std::array<Track, 2> tracks_;
    int64_t latest_ = kStart;
    int64_t lead_ = 0;  // the most that a frame's time was before its arrival (our clock)
    MonoTime lead_at_{};
    uint64_t shifts_ = 0;
    uint64_t clamps_ = 0;
};

}  // namespace weir::media
