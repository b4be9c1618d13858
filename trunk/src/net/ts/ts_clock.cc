#include "net/ts/ts_clock.h"

#include <algorithm>

#include "base/check.h"

namespace weir::net {
namespace {

constexpr int64_t kTicksPerMs = 90;
constexpr int64_t kLongestInterval = 1'000 * kTicksPerMs;

int64_t floor_ms(int64_t ticks) {
    return ticks >= 0 ? ticks / kTicksPerMs : -((-ticks + kTicksPerMs - 1) / kTicksPerMs);
}

}  // namespace

bool TsClock::fits(const Track& track, int64_t time, int64_t elapsed) const {
    if (track.last && time < *track.last - kMaxStepBackMs * kTicksPerMs) {
        return false;
    }
    return time >= latest_ - kMaxBehindMs * kTicksPerMs &&
           time <= latest_ + elapsed + kMaxAheadMs * kTicksPerMs;
}

// The decoding time on the one clock.
int64_t TsClock::place(Track& track, int64_t dts, MonoTime now) {
    if (!started_) {
        started_ = true;
        offset_ = kOriginMs * kTicksPerMs - dts;
        latest_ = dts + offset_;
        last_arrival_ = now;
    }
    const int64_t elapsed =
        std::max<int64_t>((now - last_arrival_).count(), 0) * kTicksPerMs / 1'000;
    if (fits(track, dts + offset_, elapsed)) {
        return dts + offset_;
    }
    if (previous_offset_ && fits(track, dts + *previous_offset_, elapsed)) {
        return dts + *previous_offset_;
    }
    jumps_++;
    previous_offset_ = offset_;
    const int64_t time = track.last ? *track.last + track.interval : latest_;
    offset_ = time - dts;
    return time;
}

TsClock::Times TsClock::map(media::TrackKind kind, int64_t dts, int64_t pts, MonoTime now) {
    WEIR_DCHECK(kind != media::TrackKind::kData);
    const bool video = kind == media::TrackKind::kVideo;
    Track& track = tracks_[video ? 1 : 0];
    const bool first = !track.last;
    const int64_t time = place(track, dts, now);
    const int64_t step = time - track.last.value_or(time);
    if (step > 0 && step <= kLongestInterval) {
        track.interval = step;
    }
    track.last = time;
    latest_ = std::max(latest_, time);
    last_arrival_ = now;

    Times out;
    out.decoded_ms = floor_ms(time);
    if (!first && out.decoded_ms <= track.last_ms) {
        const bool push = video && track.last_ms - out.decoded_ms < kMaxPushedMs;
        out.decoded_ms = std::max(out.decoded_ms, track.last_ms) + (push ? 1 : 0);
    }
    track.last_ms = out.decoded_ms;
    // Of the sum, so that times of presentation are as even as they came.
    const int64_t ahead = floor_ms(time + (pts - dts)) - out.decoded_ms;
    if (video && ahead > 0 && ahead <= kMaxCompositionMs) {
        out.composition_ms = static_cast<int32_t>(ahead);
    }
    return out;
}

std::optional<int64_t> TsClock::beside(size_t number, int64_t pts, MonoTime now) {
    WEIR_DCHECK(number > 0 && number <= beside_.size());
    if (!started_) {
        return std::nullopt;
    }
    const int64_t elapsed =
        std::max<int64_t>((now - last_arrival_).count(), 0) * kTicksPerMs / 1'000;
    for (const int64_t offset : {offset_, previous_offset_.value_or(offset_)}) {
        if (!fits(Track(), pts + offset, elapsed)) {
            continue;
        }
        std::optional<int64_t>& last = beside_[number - 1];
        const int64_t time_ms = floor_ms(pts + offset);
        const bool rises = !last || time_ms >= *last || time_ms < *last - kMaxStepBackMs;
        last = rises ? time_ms : *last;
        return last;
    }
    return std::nullopt;
}

}  // namespace weir::net
