#include "media/audio_clock.h"

#include <algorithm>

namespace weir::media {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kNsPerSecond = 1'000 * kNsPerMs;
// The mean of the stamps is one of half a second, and what is off by it is made good in one and a
// half: a sound card that is 1 % fast is followed 15 ms behind.
constexpr double kMeanNs = 0.5 * kNsPerSecond;
constexpr double kSteerNs = 1.5 * kNsPerSecond;
constexpr double kForgetNs = 5.0 * kNsPerSecond;
constexpr double kMostSteering = 1.0 / 8;  // of a frame's length

}  // namespace

int64_t AudioClock::give(int64_t time_ms) {
    last_ms_ = std::max(last_ms_, time_ms);
    return last_ms_;
}

// Stamps and samples do not belong together at all.
bool AudioClock::misfits() {
    misfits_++;
    return misfits_ > kMostMisfits;
}

int64_t AudioClock::place(int64_t stamp_ms, AudioLength length) {
    if (length.samples == 0 || length.rate_hz == 0 || misfits_ > kMostMisfits) {
        begun_ = false;
        return give(stamp_ms);
    }
    const int64_t stamp_ns = stamp_ms * kNsPerMs;
    const int64_t frame_ns = int64_t{length.samples} * kNsPerSecond / length.rate_hz;
    int64_t later_ns = begun_ ? stamp_ns - next_ns_ : 0;
    const bool hole = later_ns > usual_ns_ + kHoleMs * kNsPerMs;
    const bool behind = later_ns < -kMaxOffMs * kNsPerMs;
    if (begun_ && (hole || behind)) {
        holes_ += hole ? 1U : 0U;
        begun_ = false;
        if (misfits() || behind) {
            return give(stamp_ms);
        }
    }
    if (!begun_) {
        begun_ = true;
        next_ns_ = std::max(stamp_ns, last_ms_ * kNsPerMs);
        later_ns = stamp_ns - next_ns_;
        error_ns_ = 0;
        usual_ns_ = 0;
    }
    fitting_ns_ += frame_ns;
    if (fitting_ns_ > kForgiveMs * kNsPerMs && misfits_ > 0) {
        misfits_--;
        fitting_ns_ = 0;
    }
    const auto frame = static_cast<double>(frame_ns);
    const auto forgotten =
        static_cast<int64_t>(static_cast<double>(usual_ns_) * std::min(frame / kForgetNs, 1.0));
    usual_ns_ = std::clamp(later_ns, usual_ns_ - forgotten, kMaxOffMs * kNsPerMs);
    const int64_t time_ms = (next_ns_ + kNsPerMs / 2) / kNsPerMs;
    error_ns_ += (static_cast<double>(later_ns) - error_ns_) * std::min(frame / kMeanNs, 1.0);
    const double steer = std::clamp(error_ns_ * std::min(frame / kSteerNs, 1.0),
                                    -frame * kMostSteering, frame * kMostSteering);
    next_ns_ += frame_ns + static_cast<int64_t>(steer);
    error_ns_ -= steer;
    return give(time_ms);
}

}  // namespace weir::media
