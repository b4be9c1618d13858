#include "media/timeline.h"

#include <algorithm>

#include "base/check.h"

namespace weir::media {

void Timeline::shift_to(int64_t unwrapped, int64_t wanted) {
    previous_shift_ = shift_;
    shift_ = wanted - unwrapped;
    shifts_++;
}

// A single stray timestamp moved the shift, and now the publisher is back where it was: so is the
// shift.
bool Timeline::returns_to_previous(int64_t unwrapped, int64_t elapsed_ms) const {
    if (!previous_shift_) {
        return false;
    }
    const int64_t time = unwrapped + *previous_shift_;
    return time >= latest_ - kMaxStepBack && time <= latest_ + elapsed_ms + kMaxStepBack;
}

int64_t Timeline::map(TrackKind track, uint32_t timestamp, MonoTime now) {
    WEIR_DCHECK(track != TrackKind::kData);
    const size_t index = track == TrackKind::kVideo ? 1 : 0;
    if (!started_) {
        started_ = true;
        unwrapped_ = timestamp;
        shift_ = kStart - unwrapped_;
        last_arrival_ = now;
    } else if (rebase_) {
        unwrapped_ = timestamp;
        shift_to(unwrapped_, latest_ + interval_);
        previous_shift_.reset();  // of another publisher
        last_ = {latest_, latest_};
    } else {
        unwrapped_ += static_cast<int32_t>(timestamp - static_cast<uint32_t>(unwrapped_));
    }
    rebase_ = false;

    int64_t time = unwrapped_ + shift_;
    const int64_t elapsed =
        std::max<int64_t>(0, std::chrono::duration_cast<Millis>(now - last_arrival_).count());
    const bool back = seen_[index] && time + kMaxStepBack < last_[index];
    const bool ahead = time > latest_ + elapsed + kMaxStepBack;
    if ((back || ahead) && returns_to_previous(unwrapped_, elapsed)) {
        time = unwrapped_ + *previous_shift_;
        shift_to(unwrapped_, time);
    } else if (back) {
        shift_to(unwrapped_, latest_ + interval_);
        time = latest_ + interval_;
    } else if (time > latest_ + elapsed + kMaxJumpAhead) {
        time = latest_ + std::max(elapsed, interval_);
        shift_to(unwrapped_, time);
    }
    if (time < last_[index]) {
        clamps_++;
        time = last_[index];
    }
    if (index == 1 && seen_[1] && time > last_[1] && time - last_[1] < kMaxStepBack) {
        interval_ = time - last_[1];
    }
    seen_[index] = true;
    last_[index] = time;
    latest_ = std::max(latest_, time);
    last_arrival_ = now;
    return time;
}

}  // namespace weir::media
