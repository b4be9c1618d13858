#include "bench/load/core/player_check.h"

#include <algorithm>

#include "proto/rtmp/message.h"

namespace weir::load {
namespace {

constexpr int kFirstQuarter = 1;
constexpr int kLastQuarter = 4;

}  // namespace

void PlayerCheck::received(size_t bytes, uint64_t now_ns) {
    now_ns_ = now_ns;
    counts_.bytes += bytes;
    if (totals_.quarter != 0) {
        counts_.window_bytes += bytes;
    }
}

PlayerCheck::Track* PlayerCheck::track_of(const ScannedMessage& message) {
    if (message.length == 0) {
        return nullptr;
    }
    return message.type == rtmp::kVideo   ? &tracks_[0]
           : message.type == rtmp::kAudio ? &tracks_[1]
                                          : nullptr;
}

void PlayerCheck::begin(const ScannedMessage& message) {
    Track* track = track_of(message);
    if (track == nullptr) {
        return;
    }
    if (first_media_ns_ == 0) {
        first_media_ns_ = now_ns_;
        totals_.first_byte.add((now_ns_ - joined_ns_) / 1000);
    } else if (now_ns_ - last_media_ns_ > totals_.stall_ns) {
        counts_.stalls++;
    }
    if (last_media_ns_ != 0) {
        counts_.longest_gap_ns = std::max(counts_.longest_gap_ns, now_ns_ - last_media_ns_);
    }
    last_media_ns_ = now_ns_;
    if (track->open) {
        counts_.corrupted++;  // the last message of this kind never ended
    }
    track->open = true;
    track->checker.begin(message.length);
}

void PlayerCheck::part(const ScannedMessage& message, ByteSpan bytes) {
    if (Track* track = track_of(message)) {
        track->checker.feed(bytes);
    }
}

void PlayerCheck::end(const ScannedMessage& message) {
    Track* track = track_of(message);
    if (track == nullptr) {
        return;
    }
    track->open = false;
    last_media_ns_ = now_ns_;
    FrameResult frame = track->checker.end();
    if (frame.type == FrameType::kConfig) {
        return;
    }
    has_frame_ = true;
    if (track->has_timestamp &&
        static_cast<int32_t>(message.timestamp - track->last_timestamp) < 0) {
        counts_.time_steps_back++;
    }
    track->has_timestamp = true;
    track->last_timestamp = message.timestamp;
    if (message.type == rtmp::kVideo) {
        counts_.video_frames++;
        take_key_state(frame.key);
    } else {
        counts_.audio_frames++;
    }
    if (totals_.verify) {
        take_frame(*track, frame);
    }
}

void PlayerCheck::take_key_state(bool is_key) {
    if (has_key_) {
        return;
    }
    if (is_key) {
        has_key_ = true;
        first_key_ns_ = now_ns_;
        totals_.first_key.add((now_ns_ - joined_ns_) / 1000);
    } else {
        counts_.began_without_key = true;
    }
}

void PlayerCheck::take_frame(Track& track, const FrameResult& frame) {
    switch (frame.type) {
        case FrameType::kIntact: take_stamp(track, frame.stamp); break;
        case FrameType::kDamaged:
            counts_.corrupted++;
            take_stamp(track, frame.stamp);
            break;
        case FrameType::kIllegible:
            counts_.corrupted++;
            track.order.see_illegible();
            break;
        case FrameType::kForeign:
            if (!is_stamped(track)) {
                break;
            }
            // Once the track has shown its stamps, a frame without one is a damaged one.
            if (track.has_stamps) {
                counts_.corrupted++;
                track.order.see_illegible();
            } else {
                counts_.unstamped++;
            }
            break;
        case FrameType::kConfig: break;
    }
}

void PlayerCheck::take_stamp(Track& track, const Stamp& stamp) {
    track.has_stamps = true;
    if (stamp.stream != stream_) {
        counts_.corrupted++;  // somebody else's frame
        return;
    }
    if (!has_epoch_ || stamp.epoch != epoch_) {
        has_epoch_ = true;
        epoch_ = stamp.epoch;
        counts_.sessions++;
        for (Track& each : tracks_) {
            each.order.reset();
        }
    }
    track.order.see(stamp.sequence);
    if (stamp.send_ns >= joined_ns_ && now_ns_ >= stamp.send_ns) {
        take_latency(static_cast<size_t>(&track - tracks_.data()), stamp.send_ns);
    }
}

void PlayerCheck::take_latency(size_t track, uint64_t send_ns) {
    const uint64_t us = (now_ns_ - send_ns) / 1000;
    if (timed_) {
        take_jitter(us);
        totals_.recent.add(us);
    }
    if (totals_.quarter == 0) {
        return;
    }
    if (timed_) {
        window_.add(us);
        totals_.latency.add(us);
        totals_.latency_of[track].add(us);
    }
    if (totals_.quarter == kFirstQuarter) {
        first_quarter_.add(us);
    } else if (totals_.quarter == kLastQuarter) {
        last_quarter_.add(us);
    }
    if (timed_ && totals_.quarter == kFirstQuarter) {
        totals_.latency_first.add(us);
    } else if (timed_ && totals_.quarter == kLastQuarter) {
        totals_.latency_last.add(us);
    }
}

void PlayerCheck::take_jitter(uint64_t us) {
    const uint64_t change = us > last_delay_us_ ? us - last_delay_us_ : last_delay_us_ - us;
    if (has_delay_) {
        jitter_16th_us_ += static_cast<uint32_t>(change) - (jitter_16th_us_ + 8) / 16;
    }
    has_delay_ = true;
    last_delay_us_ = us;
}

PlayerCounts PlayerCheck::counts_at(uint64_t now_ns) const {
    PlayerCounts counts = counts_;
    if (last_media_ns_ != 0 && now_ns > last_media_ns_) {
        counts.longest_gap_ns = std::max(counts.longest_gap_ns, now_ns - last_media_ns_);
    }
    counts.stalls += silent(now_ns) ? 1U : 0U;
    return counts;
}

void PlayerCheck::finish(uint64_t now_ns) {
    counts_ = counts_at(now_ns);
    last_media_ns_ = 0;
}

int64_t PlayerCheck::drift_us() const {
    if (first_quarter_.frames == 0 || last_quarter_.frames == 0) {
        return 0;
    }
    return static_cast<int64_t>(last_quarter_.sum_us / last_quarter_.frames) -
           static_cast<int64_t>(first_quarter_.sum_us / first_quarter_.frames);
}

}  // namespace weir::load
