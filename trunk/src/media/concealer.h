// Concealer: makes what is heard of decoded audio smooth: it fills the place of lost frames with
// the last period of the pitch, which fades out in 60 ms (the idea of ITU-T G.711 appendix I),
// joins the next frame without a click, and makes frames shorter or longer by a period of their
// pitch.
//
// For PCM of one channel of one source. It adds no delay. Each frame that is played goes through
// add(), or comes out of conceal(); change its length before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::media {

class Concealer {
  public:
    static constexpr uint32_t kMinRate = 8'000;
    static constexpr uint32_t kMaxRate = 48'000;
    static constexpr uint32_t kFadeMs = 60;  // from the loss to silence

    // Rates beyond the limits are brought within them.
    explicit Concealer(uint32_t sample_rate);

    // A frame that is played next, of any length. Its beginning is changed when it follows
    // concealment, or when it is `broken`: what was played before does not lead into it.
    void add(std::span<int16_t> frame, bool broken = false);

    // Fills `out` with what may have been there. Silence after kFadeMs in a row, and before the
    // first frame.
    void conceal(std::span<int16_t> out);

    // Takes a period out of the frame, by overlap, and returns how many samples are left. All of
    // them when the frame is too short (less than 5 ms).
    size_t shorten(std::span<int16_t> frame) const;

    // Writes the frame with a period more into `out`, which has room for frame.size() +
    // max_period() samples, and returns how many they are. `out` is not `frame`.
    size_t stretch(std::span<const int16_t> frame, std::span<int16_t> out) const;

    size_t max_period() const { return max_lag_; }

    // The last frame was as good as silent, or there was none yet.
    bool silent() const { return silent_; }

    // Concealment is under way and has come to silence.
    bool faded() const { return !period_.empty() && concealed_ >= fade_; }

    // Forgets everything: another source.
    void reset();

  private:
    struct Search {
        std::span<const int16_t> window;  // is compared with the same many samples `lag` away
        const int16_t* origin;            // of the lagged window at lag 0
        int sign;                         // +1: the lagged window lies later, -1: earlier
        size_t min_lag;
        size_t max_lag;
    };

    static double likeness(const Search& search, size_t lag, size_t stride);
    size_t find_lag(const Search& search) const;
    size_t frame_lag(std::span<const int16_t> frame) const;
    void begin();
    int16_t next();
    void remember(std::span<const int16_t> frame);

    uint32_t rate_;
    size_t min_lag_;                // 2.5 ms
    size_t max_lag_;                // 15 ms
    size_t window_;                 // 20 ms
    size_t fade_;                   // samples until silence
    size_t overlap_;                // samples of the join
    std::vector<int16_t> history_;  // what was played last
    std::vector<int16_t> period_;   // that is repeated; empty: no concealment is under way
    size_t at_ = 0;                 // in period_
    size_t concealed_ = 0;          // samples since the loss
    int32_t step_ = 0;              // between the last sample and the one that the period follows
    bool silent_ = true;
};

}  // namespace weir::media
