// Maps a publisher's 32-bit millisecond timestamps to the one timeline of a stream, which never
// restarts.
//
// Each track has a shift, the same for both as long as the publisher keeps them on one clock. A new
// publisher, a step back that no reordering explains and a step ahead that no time that passed
// explains move the shift of the track, so that it goes on a frame after its last one. The other
// track steps at another frame: it then takes the same shift, and both are in step as before, even
// where the step is too small for the frame interval of that track. A track whose clock restarts
// by itself keeps a shift of its own. One or two stray frames do not move a track: after a stray
// back it gets its shift back, after a stray ahead its times stand still until it catches up.
// Smaller steps back within a track are clamped: RTMP's chunk deltas cannot go back
// (doc/adr/0005-fan-out.md).
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
    // So many stray frames in a row do not move a track.
    static constexpr uint32_t kMostStrays = 2;
    // The steps of both tracks are one and the same if they are no further apart, and no more
    // different; and so long a track may get back the shift from before its step.
    static constexpr int64_t kRecentStep = 3'000;
    static constexpr int64_t kSameStep = 150;
    // How far a second track of a kind may be from where the first is, or would be.
    static constexpr int64_t kMaxBeside = 3'000;

    // A new publisher takes over: its first frame continues the timeline.
    void rebase() { rebase_ = started_; }

    // Stream time (ms) of a frame of a track. `now` is its arrival.
    int64_t map(TrackKind track, uint32_t timestamp, MonoTime now);

    // Stream time of a frame of a second track of that kind, which has the clock of the first and
    // moves nothing here. Where the first is silent, its last shift still counts, or that of the
    // other kind. `now` is its arrival. Nothing: no track is anywhere near.
    std::optional<int64_t> beside(TrackKind track, uint32_t timestamp, MonoTime now) const;

    // Latest time handed out, over all tracks; kStart before the first.
    int64_t latest() const { return latest_; }

    bool started() const { return started_; }

    // Stream time minus the publisher's time (ms) of the video, or of audio where no video has
    // come; nothing before the first frame of a publisher.
    std::optional<int64_t> shift() const {
        return started_ && !rebase_ ? std::optional(tracks_[tracks_[1].seen ? 1 : 0].shift)
                                    : std::nullopt;
    }

    // How often the publisher's clock had to be corrected.
    uint64_t shifts() const { return shifts_; }

    uint64_t clamps() const { return clamps_; }

  private:
    // A frame that was further ahead than its arrival explains, but not so far that it is a step.
    struct Jump {
        int64_t reached = 0;  // of the track, before it
        MonoTime arrival{};
        int64_t lead = 0;
        uint32_t frames = 0;  // since
    };

    struct Track {
        bool seen = false;
        uint32_t frames = 0;    // of this publisher; no more are counted than matter
        int64_t unwrapped = 0;  // the publisher's last time, widened to 64 bits
        int64_t shift = 0;
        std::optional<int64_t> previous_shift;
        uint32_t since_step = 0;  // frames
        MonoTime stepped_at{};
        std::optional<Jump> jump;
        int64_t short_by = 0;  // how much too short a distance was, of late; negative: too long
        MonoTime short_at{};
        int64_t interval = kFrameGap;          // last distance between frames
        int64_t reached = kStart - kHeadroom;  // greatest time, but for those of stray frames
        int64_t last = kStart - kHeadroom;     // handed out
        MonoTime arrival{};

        int64_t time() const { return unwrapped + shift; }
    };

    void begin(Track& track, const Track& other, uint32_t timestamp, MonoTime now);
    void follow(Track& track, const Track& other, uint32_t timestamp, MonoTime now);
    static int64_t pace(const Track& track, int64_t elapsed_ms);
    static bool fits(const Track& track, int64_t shift, int64_t elapsed_ms);
    static bool has_strayed_back(const Track& track, int64_t distance, int64_t elapsed_ms);
    bool returns_from_ahead(Track& track, MonoTime now);
    static bool steps_with(const Track& track, const Track& other);
    static void note_distance(Track& track, int64_t distance, int64_t elapsed_ms, MonoTime now);
    void step(Track& track, const Track& other, int64_t elapsed_ms, MonoTime now);
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
