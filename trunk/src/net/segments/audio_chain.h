// AudioChain: places the audio frames of one track end to end, so that decode times in MP4 never
// go back, overlap or leave a gap (ISO/IEC 14496-12 §8.8.12).
//
// A frame begins where the frame before ended. The times of the stream are rounded to milliseconds
// and may run slightly faster or slower than the samples: a difference of up to 3 ms changes
// nothing, a larger one changes the durations of the following frames, by a quarter of a frame at
// most, until the chain is at the stream's time again. Only missing frames (100 ms, or four frames
// where these are longer) leave a hole. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace weir::net {

class AudioChain {
  public:
    static constexpr int64_t kSlackMs = 3;
    static constexpr int64_t kHoleMs = 100;
    static constexpr int64_t kHoleFrames = 4;
    static constexpr int64_t kShare = 4;  // of a frame, and of the difference: a quarter
    // restart(): a chain that is further ahead of the stream's time begins again there.
    static constexpr int64_t kMaxAheadMs = 1'000;

    struct Place {
        uint64_t ticks = 0;     // decode time, in units of the timescale
        uint32_t duration = 0;  // in these units
        // Frames are missing before it: the frame before may be extended to `ticks`.
        bool hole = false;
    };

    // The next frame. `timescale`: units per second, more than 0; it may change, and times then go
    // on from the same instant. `nominal`: units that the samples of the frame last; 0: unknown,
    // the frame then lasts until the next one.
    Place place(int64_t time_ms, uint32_t timescale, uint32_t nominal);

    // A discontinuity at that time of the stream: times still go on, unless the chain is far ahead.
    void restart(int64_t time_ms);

  private:
    std::optional<uint64_t> next_ticks_;  // where the newest frame ends
    uint32_t timescale_ = 1;
};

}  // namespace weir::net
