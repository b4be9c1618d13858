#include "media/timeline.h"

#include <algorithm>

#include "base/check.h"

namespace weir::media {

void Timeline::shift_to(int64_t unwrapped, int64_t wanted) {
    shift_ = wanted - unwrapped;
    shifts_++;
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
        last_ = {latest_, latest_};
    } else {
        unwrapped_ += static_cast<int32_t>(timestamp - static_cast<uint32_t>(unwrapped_));
    }
    rebase_ = false;

    int64_t time = unwrapped_ + shift_;
    const int64_t elapsed =
        std::max<int64_t>(0, std::chrono::duration_cast<Millis>(now - last_arrival_).count());
    if (seen_[index] && time + kMaxStepBack < last_[index]) {
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
