#include "proto/rtp/clock_mapper.h"

#include <algorithm>
#include <cstdlib>
#include <span>

#include "base/check.h"

namespace weir::rtp {
namespace {

constexpr int64_t kSlewShare = 8;    // of the time that passed
constexpr int64_t kReportShare = 4;  // of what a report says beyond those before it

// Packets that are further apart say nothing of a track's pace.
constexpr int64_t kSlowestPaceUs = 600'000;

// Sources of which two reports differ by more have a clock that was set.
constexpr int64_t kMaxReportNoiseUs = 100'000;

}  // namespace

size_t ClockMapper::add_track(uint32_t clock_hz, bool audio, bool reordered) {
    WEIR_CHECK(count_ < kMaxTracks && clock_hz > 0);
    tracks_[count_].clock_hz = clock_hz;
    tracks_[count_].audio = audio;
    tracks_[count_].most_back_us = (reordered ? kMaxReordered : kMaxStepBack).count();
    return count_++;
}

Micros ClockMapper::map(size_t index, uint32_t rtp_time, MonoTime arrival) {
    Track& track = tracks_[index];
    int64_t rtp_us = track.to_us(track.unwrapper.unwrap(rtp_time));
    if (!track.placed || track.replace) {
        place(track, rtp_us, arrival);
    } else if (has_stepped(track, rtp_us, arrival)) {
        step(track, rtp_us - track.last_rtp_us, rtp_time, arrival);
        rtp_us = track.last_rtp_us;
    } else {
        const int64_t elapsed = rtp_us - track.last_rtp_us;
        approach(track, elapsed);
        if (elapsed > 0 && elapsed < kSlowestPaceUs) {
            track.interval_us = elapsed;
        }
    }
    track.last_rtp_us = rtp_us;
    track.last_arrival = arrival;
    const int64_t lead_us = track.last_us() - arrival.time_since_epoch().count();
    track.lead_us = std::max(track.lead_us, lead_us);
    return Micros(std::max<int64_t>(track.last_us(), 0));
}

bool ClockMapper::has_stepped(const Track& track, int64_t rtp_us, MonoTime arrival) const {
    const int64_t elapsed = rtp_us - track.last_rtp_us;
    if (elapsed < -track.most_back_us) {
        return true;
    }
    const int64_t unexplained = elapsed - (arrival - track.last_arrival).count();
    const int64_t lead_us = rtp_us + track.offset_us - arrival.time_since_epoch().count();
    return std::min(elapsed, unexplained) > kMaxStepAhead.count() &&
           lead_us > track.lead_us + kMaxStepAhead.count();
}

// It goes on at its pace. Where another track has just made the same step, both stay in step.
void ClockMapper::step(Track& track, int64_t elapsed_us, uint32_t rtp_time, MonoTime arrival) {
    jumps_++;
    const int64_t last_us = track.last_us();
    const int64_t passed_us = std::max<int64_t>((arrival - track.last_arrival).count(), 0);
    track.ntp_offset_us.reset();
    track.unwrapper.reset();  // or a peer that only jumps would leave 64 bits behind
    const int64_t rtp_us = track.to_us(track.unwrapper.unwrap(rtp_time));
    track.last_rtp_us = rtp_us;
    const int64_t same_us = last_us + elapsed_us - stepped_us_;
    const bool same_step = stepped_track_ != nullptr && stepped_track_ != &track &&
                           arrival - stepped_at_ <= kSameStep && same_us > last_us &&
                           same_us <= last_us + passed_us + kMaxStepBack.count();
    if (same_step) {
        track.offset_us = same_us - rtp_us;
        stepped_track_ = nullptr;
        return;
    }
    // A source that was held up sends many at once.
    const bool at_its_pace = passed_us <= 4 * track.interval_us && passed_us > 0;
    const int64_t on_us = at_its_pace ? track.interval_us : std::max<int64_t>(passed_us, 1'000);
    track.offset_us = last_us + on_us - rtp_us;
    stepped_us_ = elapsed_us - on_us;
    stepped_track_ = &track;
    stepped_at_ = arrival;
}

void ClockMapper::on_sender_report(size_t index, rtcp::NtpTime ntp_time, uint32_t rtp_time) {
    Track& track = tracks_[index];
    if (ntp_time == 0) {
        ignored_reports_++;
        return;
    }
    // A report before the first packet is where unwrapping begins; later ones may be ahead of it.
    const int64_t unwrapped = track.unwrapper.highest() ? track.unwrapper.peek(rtp_time)
                                                        : track.unwrapper.unwrap(rtp_time);
    const int64_t rtp_us = track.to_us(unwrapped);
    const int64_t offset = rtcp::ntp_to_unix_us(ntp_time) - rtp_us;
    if (track.ntp_offset_us && std::abs(offset - *track.ntp_offset_us) < kMaxReportNoiseUs) {
        *track.ntp_offset_us += (offset - *track.ntp_offset_us) / kReportShare;
    } else {
        track.ntp_offset_us = offset;
    }
    const std::optional<Micros> wrong = error(index);
    if (wrong && (*wrong > kMaxCorrection || *wrong < -kMaxCorrection)) {
        ignored_reports_++;
    }
}

void ClockMapper::restart(size_t index) {
    Track& track = tracks_[index];
    track.unwrapper.reset();
    track.ntp_offset_us.reset();
    track.replace = track.placed;
}

std::optional<Micros> ClockMapper::error(size_t index) const {
    const Track& track = tracks_[index];
    const std::optional<int64_t> wanted = target(track);
    return wanted && track.placed ? std::optional(Micros(*wanted - track.offset_us)) : std::nullopt;
}

// Where the reports want a track's offset; nothing when nothing relates it to another track.
std::optional<int64_t> ClockMapper::target(const Track& track) const {
    if (!track.ntp_offset_us) {
        return std::nullopt;
    }
    const Track* const anchor = this->anchor();
    if (!anchor) {
        return std::nullopt;
    }
    return *track.ntp_offset_us + anchor->offset_us - *anchor->ntp_offset_us;
}

// Null: no track that runs has a report.
const ClockMapper::Track* ClockMapper::anchor() const {
    const Track* anchor = nullptr;
    for (const Track& each : std::span(tracks_).first(count_)) {
        if (each.placed && !each.replace && each.ntp_offset_us &&
            (!anchor || (each.audio && !anchor->audio))) {
            anchor = &each;
        }
    }
    return anchor;
}

std::optional<Micros> ClockMapper::wall_offset() const {
    const Track* const anchor = this->anchor();
    return anchor ? std::optional(Micros(*anchor->ntp_offset_us - anchor->offset_us))
                  : std::nullopt;
}

void ClockMapper::place(Track& track, int64_t rtp_us, MonoTime arrival) {
    // The stream's time now, as the track that was heard of last tells it.
    const Track* latest = nullptr;
    for (const Track& other : std::span(tracks_).first(count_)) {
        if (other.placed && (!latest || other.last_arrival > latest->last_arrival)) {
            latest = &other;
        }
    }
    const int64_t now_us =
        latest ? latest->last_us() + std::max<int64_t>((arrival - latest->last_arrival).count(), 0)
               : kOrigin.count();
    const bool again = track.placed;
    const int64_t before_us = track.last_us();
    track.offset_us = now_us - rtp_us;
    if (const std::optional<int64_t> wanted = target(track);
        wanted && std::abs(*wanted - track.offset_us) <= kMaxCorrection.count()) {
        track.offset_us = *wanted;
    }
    if (again) {  // behind what it said before
        track.offset_us = std::max(track.offset_us, before_us + 1'000 - rtp_us);
    }
    track.placed = true;
    track.replace = false;
    track.lead_us = rtp_us + track.offset_us - arrival.time_since_epoch().count();
}

void ClockMapper::approach(Track& track, int64_t elapsed_us) {
    const std::optional<int64_t> wanted = target(track);
    if (!wanted || elapsed_us <= 0) {
        return;
    }
    const int64_t wrong = *wanted - track.offset_us;
    if (std::abs(wrong) > kMaxCorrection.count()) {
        return;
    }
    const int64_t step = elapsed_us / kSlewShare;
    track.offset_us += std::clamp(wrong, -step, step);
}

}  // namespace weir::rtp
