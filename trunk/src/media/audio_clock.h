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
    // together (a codec whose rate is not what it says), and all frames have their stamps.
    static constexpr uint32_t kMostMisfits = 8;
    static constexpr int64_t kForgiveMs = 10'000;

    // Time of the next frame, never before that of the last one. `stamp_ms`: the publisher's, on
    // the stream's timeline. A frame whose length is not known has its stamp.
    int64_t place(int64_t stamp_ms, AudioLength length);

    // The next frame has its stamp again, unless that is before the last frame.
    void restart() {
        begun_ = false;
        misfits_ = 0;
    }

    uint64_t holes() const { return holes_; }

  private:
    int64_t give(int64_t time_ms);
    void forgive(int64_t frame_ns);

    bool begun_ = false;
    uint32_t misfits_ = 0;
    int64_t next_ns_ = 0;  // of the next frame, by the samples and the steering
    double error_ns_ = 0;  // how much later the stamps are, in the mean
    double usual_ns_ = 0;  // how far stamps have been from that, of late
    int64_t fitting_ns_ = 0;
    int64_t last_ms_ = 0;
    uint64_t holes_ = 0;
};

}  // namespace weir::media
