#include "net/rtp/late_audio.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace weir::net {

using media::TrackKind;

// Of the last kRuns the second latest; 0 where audio is on time or too late to be waited for.
int64_t LateAudio::usual_lateness_ms() const {
    std::array<int64_t, kRuns> sorted = runs_;
    std::ranges::nth_element(sorted, sorted.begin() + 1, std::greater<>());
    return sorted[1] > kOnTimeMs && sorted[1] <= kMaxWaitMs ? sorted[1] : 0;
}

// An audio frame is so late.
void LateAudio::measure(MonoTime now, int64_t late_ms) {
    if (!run_open_) {
        run_open_ = true;
        run_ = (run_ + 1) % kRuns;
        runs_[run_] = late_ms;
    }
    runs_[run_] = std::max(runs_[run_], late_ms);
    const int64_t passed_us = std::chrono::duration_cast<Micros>(now - measured_at_).count();
    measured_at_ = now;
    const int64_t usual_us = usual_lateness_ms() * 1'000;
    if (wait_us_ <= usual_us) {
        wait_us_ = usual_us;
        return;
    }
    wait_us_ = std::max(wait_us_ - passed_us * kFallMsPerSecond / 1'000, usual_us);
    if (wait_us_ < kOnTimeMs * 1'000) {
        wait_us_ = 0;
    }
}

bool LateAudio::push(MonoTime now, const media::PacketRef& packet, const stream::Configs* start) {
    const media::PacketInfo& info = packet->info();
    if (info.kind == TrackKind::kData || (info.kind == TrackKind::kAudio && info.track_id != 0)) {
        return true;  // no player gets it
    }
    const bool audio = info.kind == TrackKind::kAudio;
    const bool frame = !info.config && !info.metadata && !info.end;
    if (frame && !audio) {
        video_ms_ = std::max(video_ms_.value_or(packet->time_ms()), packet->time_ms());
        clock_.note(*video_ms_, now);
        run_open_ = false;
    } else if (frame && video_ms_) {
        measure(now, *video_ms_ - packet->time_ms());
    }
    Queue& queue = queues_[audio ? 0 : 1];
    if (wait_us_ == 0 && queue.empty() && !gathering_) {
        return true;
    }
    Held held{packet, {}, 0};  // a configuration goes with the frame before it
    if (start) {
        held.start = *start;
    }
    if (frame) {
        held.after_us = std::min(packet->time_ms() * 1'000, clock_.at(now));
    }
    bytes_ += packet->body().size();
    queue.push_back(std::move(held));
    return false;
}

size_t LateAudio::next_queue() const {
    if (queues_[0].empty() || queues_[1].empty()) {
        return queues_[0].empty() ? 1 : 0;
    }
    return queues_[0].front().after_us < queues_[1].front().after_us ? 0 : 1;
}

MonoTime LateAudio::next_due(MonoTime now) const {
    if (!holds() || (gathering_ && bytes_ <= kMaxBytes)) {
        return MonoTime::max();
    }
    const Held& next = queues_[next_queue()].front();
    const int64_t wait_us = next.after_us + wait_us_ - clock_.at(now);
    return bytes_ > kMaxBytes ? now : now + Micros(std::max<int64_t>(wait_us, 0));
}

LateAudio::Held LateAudio::pop() {
    WEIR_DCHECK(holds());
    Queue& queue = queues_[next_queue()];
    Held next = std::move(queue.front());
    queue.pop_front();
    bytes_ -= next.packet->body().size();
    return next;
}

}  // namespace weir::net
