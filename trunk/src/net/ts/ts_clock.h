// One clock in milliseconds for all tracks of a transport stream.
//
// The clock of a broadcast jumps (splices, loops, another encoder), and its tracks come to the jump
// one after the other, since audio lies up to a second behind the video of its time. The first
// track that jumps goes on one frame after its last; the other ones keep the old clock until they
// jump too, and then are as far from the first as the new clock says. Pure; times must be
// unwrapped (mpegts::TimeUnwrapper).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "media/codec.h"
#include "media/description.h"

namespace weir::net {

class TsClock {
  public:
    static constexpr int64_t kOriginMs = 3'000;  // the first time: room for a track that is earlier
    // Steps that are no jump: behind the newest time of all tracks, back within a track, and ahead
    // of the newest time beyond the time that passed.
    static constexpr int64_t kMaxBehindMs = 2'500;
    static constexpr int64_t kMaxStepBackMs = 500;
    static constexpr int64_t kMaxAheadMs = 3'000;
    // Presentation before decoding, or later by more than this, is an error of the source.
    static constexpr int64_t kMaxCompositionMs = 10'000;
    // Video frames of one moment are put a millisecond apart, up to so far behind it: times rise.
    static constexpr int64_t kMaxPushedMs = 40;

    struct Times {
        int64_t decoded_ms = 0;
        int32_t composition_ms = 0;  // presentation minus decoding
    };

    // Of a frame of audio or video; `dts` and `pts` in 90 kHz, `now`: its arrival. Call in the
    // order of each track's frames.
    Times map(media::TrackKind track, int64_t dts, int64_t pts, MonoTime now);

    // Presentation time in milliseconds of a frame of a further audio track, which has the clock of
    // the others and does not move it. `number`: of the track, from 1 on, below
    // Description::kMaxAudioTracks. Nothing: it is nowhere near the others.
    std::optional<int64_t> beside(size_t number, int64_t pts, MonoTime now);

    // Another track has that number from now on.
    void forget_beside(size_t number) { beside_[number - 1].reset(); }

    // How often the clock of the source jumped.
    uint64_t jumps() const { return jumps_; }

  private:
    struct Track {
        std::optional<int64_t> last;  // decoding time, 90 kHz of the one clock
        int64_t last_ms = 0;
        int64_t interval = 3'600;
    };

    bool fits(const Track& track, int64_t time, int64_t elapsed) const;
    int64_t place(Track& track, int64_t dts, MonoTime now);

    std::array<Track, 2> tracks_;  // audio, video
    // The newest times of further audio tracks, in milliseconds.
    std::array<std::optional<int64_t>, media::Description::kMaxAudioTracks - 1> beside_;
    int64_t offset_ = 0;                      // of the one clock to that of the source
    std::optional<int64_t> previous_offset_;  // before the newest jump
    int64_t latest_ = 0;
    MonoTime last_arrival_{};
    bool started_ = false;
    uint64_t jumps_ = 0;
};

}  // namespace weir::net
