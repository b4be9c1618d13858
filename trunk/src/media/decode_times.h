// Makes decoding times of presentation times, for media that comes with the latter only (RTP) and
// in the order of decoding.
//
// With B-frames, a frame that others refer to comes before frames that are shown earlier, so times
// go back and forth. The decoding times are the same times in rising order, as many frames late as
// a frame may come before one that is shown earlier: the depth. An encoder names it in the SPS;
// where it does not, it is learnt from the frames, and the first frame that shows it gets a
// decoding time behind its presentation. Holds no frame back. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::media {

class DecodeTimes {
  public:
    // H.264 and HEVC allow no more (H.264 §A.3.1, HEVC table A.8: the decoded picture buffer).
    static constexpr size_t kMaxDepth = 16;
    // A step of presentation times by more than this is a new beginning, not a B-frame; so is a
    // presentation that is so long before the decoding.
    static constexpr int64_t kMaxStepSeconds = 5;
    // An encoder that names a depth may be exceeded by so much before it is not believed.
    static constexpr size_t kBeyondNamedDepth = 1;

    explicit DecodeTimes(uint32_t clock_hz) : clock_hz_(clock_hz) {}

    // As the encoder names it. It is not made less than what frames have shown.
    void set_depth(size_t frames);

    // Decoding time of the next frame, whose presentation time (in units of the clock, unwrapped)
    // is `shown`. Strictly rising until the next clear() or jump of the presentation times.
    // `reordered`: it may be shown before frames that came earlier (it has B slices); a frame that
    // may not, and is earlier, is the first one after the source's clock was set back.
    int64_t next(int64_t shown, bool reordered = true);

    // The source starts anew; the depth stays.
    void clear() {
        const size_t named = named_;
        *this = DecodeTimes(clock_hz_, depth_);
        named_ = named;
    }

    size_t depth() const { return depth_; }

  private:
    DecodeTimes(uint32_t clock_hz, size_t depth) : clock_hz_(clock_hz), depth_(depth) {}

    size_t frames_behind(int64_t shown) const;
    void learn(int64_t shown);
    void insert(int64_t shown);

    uint32_t clock_hz_;
    size_t depth_ = 0;
    size_t named_ = kMaxDepth;  // by the encoder; the most that there can be, where it names none
    std::array<int64_t, kMaxDepth + 1> waiting_{};  // presentation times, sorted
    size_t count_ = 0;
    std::array<int64_t, kMaxDepth> recent_{};  // presentation times of the frames before, a ring
    uint64_t frames_ = 0;
    int64_t last_ = 0;  // decoding time
};

}  // namespace weir::media
