#include "media/audio_clock.h"

#include <algorithm>
#include <cmath>

namespace weir::media {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kNsPerSecond = 1'000 * kNsPerMs;
// The mean of the stamps is one of half a second, and what is off by it is made good in one and a
// half: a sound card that is 1 % fast is followed 15 ms behind.
constexpr double kMeanNs = 0.5 * kNsPerSecond;
constexpr double kSteerNs = 1.5 * kNsPerSecond;
constexpr double kMostNs = AudioClock::kMaxOffMs * static_cast<double>(kNsPerMs);
constexpr double kForgetNs = 5.0 * kNsPerSecond;
constexpr double kMostSteering = 1.0 / 8;  // of a frame's length
// A stamp so much later than the samples say, beyond what stamps of this track do anyway, is a
// hole: frames are missing there. In frames, and at least.
constexpr double kHoleFrames = 0.6;
constexpr double kLeastHoleNs = 12.0 * kNsPerMs;
constexpr double kUsualShare = 1.5;
// A hole has the length of the lost frames, about, and is there from one frame to the next; others
// speak against the samples.
constexpr double kWholeFrames = 0.3;
constexpr double kLeastJump = 1.0 / 3;  // of the hole

bool is_of_whole_frames(double hole, double frame) {
    const double frames = hole / frame;
    return std::abs(frames - std::max(std::round(frames), 1.0)) < kWholeFrames;
}

}  // namespace

int64_t AudioClock::give(int64_t time_ms) {
    last_ms_ = std::max(last_ms_, time_ms);
    return last_ms_;
}

// Misfits are forgiven one by one.
void AudioClock::forgive(int64_t frame_ns) {
    fitting_ns_ += frame_ns;
    if (fitting_ns_ > kForgiveMs * kNsPerMs) {
        fitting_ns_ = 0;
        misfits_ -= misfits_ > 0 ? 1U : 0U;
    }
}

// Whether holes follow each other as no loss makes them: the frames are longer than they say.
bool AudioClock::is_dense_hole(int64_t frame_ns) {
    const bool dense = since_hole_ns_ <= 2 * frame_ns + static_cast<int64_t>(kLeastHoleNs);
    since_hole_ns_ = 0;
    holes_in_a_row_ = dense ? holes_in_a_row_ + 1 : 1;
    return holes_in_a_row_ > kMostHolesInARow;
}

void AudioClock::note_lateness(int64_t frame_ns) {
    late_ns_ = std::abs(error_ns_) > kMaxLateMs * kNsPerMs ? late_ns_ + frame_ns : 0;
    if (late_ns_ > kMaxLateForMs * kNsPerMs) {
        late_ns_ -= kNsPerSecond;
        misfits_++;
    }
}

int64_t AudioClock::place(int64_t stamp_ms, AudioLength length) {
    if (length.samples == 0 || length.rate_hz == 0) {
        begun_ = false;
        return give(stamp_ms);
    }
    const int64_t stamp_ns = stamp_ms * kNsPerMs;
    const int64_t frame_ns = int64_t{length.samples} * kNsPerSecond / length.rate_hz;
    const auto frame = static_cast<double>(frame_ns);
    if (misfits_ > kMostMisfits) {
        begun_ = false;
        return give(stamp_ms);
    }
    forgive(frame_ns);
    since_hole_ns_ += frame_ns;
    double later = begun_ ? static_cast<double>(stamp_ns - next_ns_) : 0;
    const double least = std::max(kHoleFrames * frame, kLeastHoleNs) + kUsualShare * usual_ns_;
    const bool hole = later > std::min(least, kMostNs);
    const bool behind = later < -kMostNs;
    if (hole || behind) {
        holes_ += hole ? 1U : 0U;
        const bool dense = hole && is_dense_hole(frame_ns);
        const bool gradual = later - before_ns_ < later * kLeastJump;
        misfits_ += behind || dense || gradual || !is_of_whole_frames(later, frame) ? 1U : 0U;
        begun_ = false;
        if (behind) {
            return give(stamp_ms);
        }
    }
    if (!begun_) {
        begun_ = true;
        next_ns_ = std::max(stamp_ns, last_ms_ * kNsPerMs);
        later = static_cast<double>(stamp_ns - next_ns_);
        error_ns_ = 0;
    }
    before_ns_ = later;
    usual_ns_ =
        std::max(usual_ns_ * (1 - std::min(frame / kForgetNs, 1.0)), std::abs(later - error_ns_));
    const int64_t time_ms = (next_ns_ + kNsPerMs / 2) / kNsPerMs;
    error_ns_ += (later - error_ns_) * std::min(frame / kMeanNs, 1.0);
    const double steer = std::clamp(error_ns_ * std::min(frame / kSteerNs, 1.0),
                                    -frame * kMostSteering, frame * kMostSteering);
    next_ns_ += frame_ns + static_cast<int64_t>(steer);
    error_ns_ -= steer;
    note_lateness(frame_ns);
    return give(time_ms);
}

}  // namespace weir::media
