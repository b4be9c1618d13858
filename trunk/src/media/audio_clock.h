// The clock of one audio track: a frame begins where the samples of the one before end, steered to
// the publisher's time stamps without steps.
//
// Stamps are whole milliseconds, several frames may have the same one, and a sound card is never
// quite as fast as it says: taken as they are, frames overlap and go back (ISO/IEC 14496-12
// §8.8.12 allows neither). In the mean the times are those of the stamps; a real hole stays one.
// Pure, constant time.
#pragma once

#include <cstdint>

#include "media/audio_length.h"

namespace weir::media {

class AudioClock {
  public:
    // Samples that have gone so far beyond the stamps count no more: the frame has its stamp. The
    // same the other way round.
    static constexpr int64_t kMaxOffMs = 500;
    // Either of both so often, each forgiven after so long: samples and stamps do not belong
    // together (a codec whose rate is not what it says), and all frames have their stamps until
    // the next restart().
    static constexpr uint32_t kMostMisfits = 8;
    static constexpr int64_t kForgiveMs = 10'000;
    // Misfits, too: more holes in a row than these, hardly a frame apart; and stamps that the
    // steering stays this far behind (their mean, 40 ms for the frames) for so long, then each
    // second.
    static constexpr uint32_t kMostHolesInARow = 4;
    static constexpr int64_t kMaxLateMs = 30;
    static constexpr int64_t kMaxLateForMs = 5'000;

    // Time of the next frame, never before that of the last one. `stamp_ms`: the publisher's, on
    // the stream's timeline. A frame whose length is not known has its stamp.
    int64_t place(int64_t stamp_ms, AudioLength length);

    // The next frame has its stamp again, unless that is before the last frame.
    void restart() {
        begun_ = false;
        misfits_ = 0;
        late_ns_ = 0;
    }

    // The frames of another publisher follow. Only the time of the last frame is kept.
    void begin_publisher() {
        const int64_t last_ms = last_ms_;
        *this = AudioClock();
        last_ms_ = last_ms;
    }

    uint64_t holes() const { return holes_; }

  private:
    int64_t give(int64_t time_ms);
    void forgive(int64_t frame_ns);
    bool is_dense_hole(int64_t frame_ns);
    void note_lateness(int64_t frame_ns);

    bool begun_ = false;
    uint32_t misfits_ = 0;
    int64_t next_ns_ = 0;   // of the next frame, by the samples and the steering
    double before_ns_ = 0;  // how much later the last stamp was than that
    double error_ns_ = 0;   // how much later the stamps are, in the mean
    double usual_ns_ = 0;   // how far stamps have been from that, of late
    int64_t fitting_ns_ = 0;
    int64_t since_hole_ns_ = 0;
    uint32_t holes_in_a_row_ = 0;
    int64_t late_ns_ = 0;  // how long the mean has been too late, or too early
    int64_t last_ms_ = 0;
    uint64_t holes_ = 0;
};

}  // namespace weir::media
