#include "media/decode_times.h"

#include <algorithm>
#include <cstdlib>

namespace weir::media {
namespace {

// Between the decoding times of the first frames, which are before all presentation times: less
// than between frames of any usual rate.
constexpr uint32_t kFirstStepsPerSecond = 100;

}  // namespace

void DecodeTimes::set_depth(size_t frames) {
    named_ = std::min(frames, kMaxDepth);
    depth_ = std::max(depth_, named_);
}

void DecodeTimes::insert(int64_t shown) {
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count_);
    const auto place = std::upper_bound(waiting_.begin(), end, shown);
    std::copy_backward(place, end, end + 1);
    *place = shown;
    count_++;
}

// How many of the frames that came before one are shown after it.
size_t DecodeTimes::frames_behind(int64_t shown) const {
    const auto known = static_cast<std::ptrdiff_t>(std::min<uint64_t>(frames_, kMaxDepth));
    return static_cast<size_t>(std::count_if(recent_.begin(), recent_.begin() + known,
                                             [shown](int64_t other) { return other > shown; }));
}

// The depth is the largest number of these.
void DecodeTimes::learn(int64_t shown) {
    depth_ = std::max(depth_, frames_behind(shown));
    recent_[frames_ % kMaxDepth] = shown;
    frames_++;
}

int64_t DecodeTimes::next(int64_t shown, bool reordered) {
    const int64_t most = kMaxStepSeconds * static_cast<int64_t>(clock_hz_);
    const size_t behind = frames_behind(shown);
    const bool set_back = behind > 0 && (!reordered || behind > named_ + kBeyondNamedDepth);
    if (frames_ > 0 && (set_back || std::abs(shown - recent_[(frames_ - 1) % kMaxDepth]) > most ||
                        last_ - shown > most)) {
        clear();
    }
    learn(shown);
    insert(shown);
    int64_t time = 0;
    if (count_ > depth_) {
        time = waiting_[0];
        std::copy(waiting_.begin() + 1, waiting_.begin() + static_cast<std::ptrdiff_t>(count_),
                  waiting_.begin());
        count_--;
    } else {
        // Fewer frames than the depth so far: before the first one, a step for each that is to
        // come.
        const auto early = static_cast<int64_t>(depth_ + 1 - count_);
        time = waiting_[0] - early * (clock_hz_ / kFirstStepsPerSecond);
    }
    if (frames_ > 1) {
        time = std::max(time, last_ + 1);
    }
    last_ = time;
    return time;
}

}  // namespace weir::media
