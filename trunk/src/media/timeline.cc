#include "media/timeline.h"

#include <algorithm>

#include "base/check.h"

namespace weir::media {
namespace {

constexpr int64_t kFitsAhead = 1'000;
// A publisher that goes on at its pace after a step; else the time that passed counts.
constexpr int64_t kPaceFrames = 4;
// The clocks of both ends are not quite the same: the greatest lead is forgotten so slowly.
constexpr int64_t kLeadLeakShare = 1'000;
// Frames that are further apart say nothing of a track's pace.
constexpr int64_t kMaxInterval = 10'000;

int64_t to_ms(MonoTime time) {
    return std::chrono::duration_cast<Millis>(time.time_since_epoch()).count();
}

int64_t widened(uint32_t timestamp, int64_t near) {
    return near + static_cast<int32_t>(timestamp - static_cast<uint32_t>(near));
}

}  // namespace

// The first frame of a track.
void Timeline::begin(Track& track, const Track& other, uint32_t timestamp, MonoTime now) {
    if (!started_ || rebase_) {
        track.unwrapped = timestamp;
        const int64_t time = started_ ? latest_ + tracks_[1].interval : kStart;
        shifts_ += started_ ? 1U : 0U;
        if (rebase_) {
            tracks_.fill(Track());
            for (Track& each : tracks_) {
                each.last = latest_;
            }
            track.unwrapped = timestamp;
        }
        track.shift = time - timestamp;
        lead_ = time - to_ms(now);
        lead_at_ = now;
        started_ = true;
        rebase_ = false;
    } else {
        track.unwrapped = widened(timestamp, other.unwrapped);
        track.shift = other.shift;
        const int64_t elapsed =
            std::max<int64_t>(0, std::chrono::duration_cast<Millis>(now - other.arrival).count());
        const int64_t time = track.unwrapped + track.shift;
        if (time < latest_ - kMaxFirstStepAhead || time > latest_ + elapsed + kMaxFirstStepAhead) {
            track.shift = latest_ + elapsed - track.unwrapped;  // a clock of its own
            shifts_++;
        }
    }
    track.seen = true;
}

bool Timeline::is_ahead(const Track& track,
                        int64_t distance,
                        int64_t elapsed_ms,
                        MonoTime now) const {
    const int64_t most = track.frames < kFramesForPace
                             ? kMaxFirstStepAhead
                             : std::max(kMaxStepAhead, kStepAheadFrames * track.interval);
    const int64_t lead = track.unwrapped + track.shift - to_ms(now);
    return distance > elapsed_ms + most && lead > lead_ + kMaxStepAhead;
}

// Whether the frame comes where one was expected, with that shift.
bool Timeline::fits(const Track& track, int64_t shift, int64_t elapsed_ms) {
    const int64_t time = track.unwrapped + shift;
    return time >= track.last - kMaxStepBack && time <= track.last + elapsed_ms + kFitsAhead;
}

// The publisher's clock is another one from here on.
void Timeline::step(Track& track, const Track& other, int64_t elapsed_ms) {
    const int64_t before = track.shift;
    if (track.previous_shift && fits(track, *track.previous_shift, elapsed_ms)) {
        track.shift = *track.previous_shift;
        shifts_++;
    } else if (other.seen && other.shift != track.shift && fits(track, other.shift, elapsed_ms)) {
        track.shift = other.shift;
    } else {
        const bool at_its_pace = elapsed_ms <= kPaceFrames * track.interval;
        track.shift = track.last + (at_its_pace ? track.interval : elapsed_ms) - track.unwrapped;
        shifts_++;
    }
    track.previous_shift = before;
}

void Timeline::follow(Track& track, const Track& other, uint32_t timestamp, MonoTime now) {
    const int64_t unwrapped = widened(timestamp, track.unwrapped);
    const int64_t distance = unwrapped - track.unwrapped;
    track.unwrapped = unwrapped;
    const int64_t elapsed =
        std::max<int64_t>(0, std::chrono::duration_cast<Millis>(now - track.arrival).count());
    const int64_t most_back = std::max(kMaxStepBack, kStepBackFrames * track.interval);
    const bool strayed = track.previous_shift && distance > elapsed + kFitsAhead &&
                         fits(track, *track.previous_shift, elapsed);
    if (strayed || track.unwrapped + track.shift < track.last - most_back ||
        is_ahead(track, distance, elapsed, now)) {
        step(track, other, elapsed);
    } else if (distance > 0 && distance < kMaxInterval) {
        track.interval = distance;
    }
}

void Timeline::note_lead(int64_t time, MonoTime now) {
    const int64_t passed = std::chrono::duration_cast<Millis>(now - lead_at_).count();
    if (passed > kLeadLeakShare) {
        lead_ -= passed / kLeadLeakShare;
        lead_at_ = now;
    }
    lead_ = std::max(lead_, time - to_ms(now));
}

int64_t Timeline::map(TrackKind kind, uint32_t timestamp, MonoTime now) {
    WEIR_DCHECK(kind != TrackKind::kData);
    const size_t index = kind == TrackKind::kVideo ? 1 : 0;
    Track& track = tracks_[index];
    if (!track.seen || rebase_) {
        begin(track, tracks_[1 - index], timestamp, now);
    } else {
        follow(track, tracks_[1 - index], timestamp, now);
    }
    int64_t time = track.unwrapped + track.shift;
    if (time < track.last) {
        clamps_++;
        time = track.last;
    }
    track.frames = std::min(track.frames + 1, kFramesForPace);
    track.last = time;
    track.arrival = now;
    latest_ = std::max(latest_, time);
    note_lead(time, now);
    return time;
}

}  // namespace weir::media
