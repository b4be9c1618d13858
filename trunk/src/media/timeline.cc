#include "media/timeline.h"

#include <algorithm>
#include <cstdlib>

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

int64_t ms_between(MonoTime from, MonoTime to) {
    return std::chrono::duration_cast<Millis>(to - from).count();
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
        const int64_t elapsed = std::max<int64_t>(0, ms_between(other.arrival, now));
        const int64_t time = track.time();
        if (time < latest_ - kMaxFirstStepAhead || time > latest_ + elapsed + kMaxFirstStepAhead) {
            track.shift = latest_ + elapsed - track.unwrapped;  // a clock of its own
            shifts_++;
        }
    }
    track.reached = track.time();
    track.seen = true;
}

bool Timeline::is_ahead(const Track& track,
                        int64_t distance,
                        int64_t elapsed_ms,
                        MonoTime now) const {
    const int64_t most = track.frames < kFramesForPace
                             ? kMaxFirstStepAhead
                             : std::max(kMaxStepAhead, kStepAheadFrames * track.interval);
    const int64_t lead = track.time() - to_ms(now);
    return distance > elapsed_ms + most && lead > lead_ + kMaxStepAhead;
}

// How far the next frame is expected from the last one.
int64_t Timeline::pace(const Track& track, int64_t elapsed_ms) {
    return elapsed_ms <= kPaceFrames * track.interval ? track.interval : elapsed_ms;
}

// Whether the frame comes where one was expected, with that shift.
bool Timeline::fits(const Track& track, int64_t shift, int64_t elapsed_ms) {
    const int64_t time = track.unwrapped + shift;
    return time >= track.reached - kMaxStepBack && time <= track.reached + elapsed_ms + kFitsAhead;
}

// Whether the last step was none, only a stray frame in the past.
bool Timeline::has_strayed_back(const Track& track, int64_t distance, int64_t elapsed_ms) {
    const int64_t explained =
        track.since_step <= kMostStrays ? track.interval : std::max(elapsed_ms, track.interval);
    return track.previous_shift && *track.previous_shift < track.shift &&
           distance > explained + kMaxStepBack && fits(track, *track.previous_shift, elapsed_ms);
}

// Whether the jump ahead just before was only a stray frame: this one comes where one was expected
// without the jump. What was handed out stays: times stand still until the track is there.
bool Timeline::returns_from_ahead(Track& track, MonoTime now) {
    if (!track.jump || track.time() >= track.reached - kMaxStepBack) {
        return false;
    }
    const Jump jump = *track.jump;
    const int64_t passed = std::max<int64_t>(0, ms_between(jump.arrival, now));
    if (track.time() < jump.reached - kMaxStepBack ||
        track.time() > jump.reached + passed + kFitsAhead) {
        return false;
    }
    track.reached = track.time();
    lead_ = jump.lead;
    track.jump.reset();
    return true;
}

// Whether a distance of this track was wrong by as much as the other track has stepped.
bool Timeline::steps_with(const Track& track, const Track& other) {
    return track.short_by != 0 && other.previous_shift &&
           std::abs(ms_between(other.stepped_at, track.short_at)) <= kRecentStep &&
           std::abs(other.shift - track.shift - track.short_by) <= kSameStep;
}

void Timeline::note_distance(Track& track, int64_t distance, int64_t elapsed_ms, MonoTime now) {
    const int64_t short_by = pace(track, elapsed_ms) - distance;
    if (std::abs(short_by) > kMaxStepBack) {
        // A frame that is back where the track was makes good the one before.
        const bool made_good = std::abs(short_by + track.short_by) <= kSameStep;
        track.short_by = made_good ? 0 : short_by;
        track.short_at = now;
    }
}

// The publisher's clock is another one from here on.
void Timeline::step(Track& track, const Track& other, int64_t elapsed_ms, MonoTime now) {
    const int64_t before = track.shift;
    if (track.previous_shift && fits(track, *track.previous_shift, elapsed_ms)) {
        track.shift = *track.previous_shift;
        shifts_++;
    } else if (other.seen && other.shift != track.shift && fits(track, other.shift, elapsed_ms)) {
        track.shift = other.shift;
    } else {
        track.shift = track.reached + pace(track, elapsed_ms) - track.unwrapped;
        shifts_++;
    }
    track.previous_shift = before;
    track.stepped_at = now;
    track.since_step = 0;
    track.short_by = 0;
    track.jump.reset();
}

void Timeline::follow(Track& track, const Track& other, uint32_t timestamp, MonoTime now) {
    const int64_t unwrapped = widened(timestamp, track.unwrapped);
    const int64_t distance = unwrapped - track.unwrapped;
    track.unwrapped = unwrapped;
    const int64_t elapsed = std::max<int64_t>(0, ms_between(track.arrival, now));
    if (track.previous_shift && ms_between(track.stepped_at, now) > kRecentStep) {
        track.previous_shift.reset();
    }
    if (track.jump && ++track.jump->frames > kMostStrays) {
        track.jump.reset();
    }
    track.since_step = std::min(track.since_step + 1, kMostStrays + 1);
    const bool stepped_at_last_frame = steps_with(track, other);
    note_distance(track, distance, elapsed, now);
    const int64_t most_back = std::max(kMaxStepBack, kStepBackFrames * track.interval);
    if (returns_from_ahead(track, now)) {
        return;
    }
    if (stepped_at_last_frame || steps_with(track, other)) {
        track.shift = other.shift;
        track.short_by = 0;
        track.reached = track.time();
    } else if (has_strayed_back(track, distance, elapsed) ||
               track.time() < track.reached - most_back ||
               is_ahead(track, distance, elapsed, now)) {
        step(track, other, elapsed, now);
    } else if (!track.jump && distance > std::max(elapsed, track.interval) + kMaxStepBack) {
        track.jump = Jump{track.reached, track.arrival, lead_};
    } else if (distance > 0 && distance < kMaxInterval) {
        track.interval = distance;
    }
}

void Timeline::note_lead(int64_t time, MonoTime now) {
    const int64_t passed = ms_between(lead_at_, now);
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
    track.reached = std::max(track.reached, track.time());
    note_lead(track.time(), now);
    int64_t time = track.time();
    if (time < track.last) {
        clamps_++;
        time = track.last;
    }
    track.frames = std::min(track.frames + 1, kFramesForPace);
    track.last = time;
    track.arrival = now;
    latest_ = std::max(latest_, time);
    return time;
}

std::optional<int64_t> Timeline::beside(TrackKind kind, uint32_t timestamp, MonoTime now) const {
    WEIR_DCHECK(kind != TrackKind::kData);
    if (!started_ || rebase_) {
        return std::nullopt;
    }
    const size_t first = kind == TrackKind::kVideo ? 1 : 0;
    for (const Track* track : {&tracks_[first], &tracks_[1 - first]}) {
        if (!track->seen) {
            continue;
        }
        const int64_t unwrapped = widened(timestamp, track->unwrapped);
        const int64_t silent_ms = std::max<int64_t>(0, ms_between(track->arrival, now));
        const int64_t most = std::max(latest_, track->reached + silent_ms) + kMaxBeside;
        // At a step of the clock one track comes before the other.
        for (const int64_t shift : {track->shift, track->previous_shift.value_or(track->shift)}) {
            const int64_t time = unwrapped + shift;
            if (time >= track->reached - kMaxBeside && time <= most) {
                return time;
            }
        }
    }
    return std::nullopt;
}

}  // namespace weir::media
