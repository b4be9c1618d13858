#include "net/segments/audio_chain.h"

#include <algorithm>

namespace weir::net {

AudioChain::Place AudioChain::place(int64_t time_ms, uint32_t timescale, uint32_t nominal) {
    const auto scale = static_cast<int64_t>(timescale);
    const int64_t wanted = time_ms * scale / 1000;
    if (next_ticks_ && timescale_ != timescale) {
        next_ticks_ = (*next_ticks_ * timescale + timescale_ - 1) / timescale_;
    }
    timescale_ = timescale;
    const auto next = static_cast<int64_t>(next_ticks_.value_or(static_cast<uint64_t>(wanted)));
    const int64_t off = wanted - next;
    const auto length = static_cast<int64_t>(nominal);
    const int64_t most = nominal == 0 ? 0 : std::max(kHoleMs * scale / 1000, kHoleFrames * length);
    Place place{.ticks = static_cast<uint64_t>(next), .duration = nominal};
    if (off > most) {
        place.ticks = static_cast<uint64_t>(wanted);
        place.hole = true;
    } else if (off > kSlackMs * scale / 1000 || off < -kSlackMs * scale / 1000) {
        const int64_t step = std::clamp(off / kShare, -length / kShare, length / kShare);
        place.duration = static_cast<uint32_t>(length + step);
    }
    next_ticks_ = place.ticks + place.duration;
    return place;
}

void AudioChain::restart(int64_t time_ms) {
    const int64_t ahead_ms =
        next_ticks_ ? static_cast<int64_t>(*next_ticks_ * 1000 / timescale_) - time_ms : 0;
    if (ahead_ms > kMaxAheadMs) {
        next_ticks_.reset();
    }
}

}  // namespace weir::net
