#include "session/sip/sip_audio_pacer.h"

#include <algorithm>
#include <utility>

#include "proto/rtp/header.h"

namespace weir::session {
namespace {

constexpr size_t kTimeAt = 4;  // in a header of RTP

}  // namespace

// Where the stream goes back, jumps or is late, as after a stall, the delay begins again.
MonoTime SipAudioPacer::due_of(MonoTime now, uint32_t clock_hz, uint32_t rtp_time) const {
    if (!last_due_) {
        return now + kDelay;
    }
    const auto ticks = static_cast<int32_t>(rtp_time - last_time_);
    const Micros step(int64_t{ticks} * 1'000'000 / std::max<uint32_t>(clock_hz, 1));
    const MonoTime due = *last_due_ + step;
    if (step <= Micros(0) || step > kMaxStep || due < now) {
        return std::max(now + kDelay, *last_due_ + kTick);
    }
    return due;
}

void SipAudioPacer::push(MonoTime now, uint32_t clock_hz, ByteSpan packet) {
    if (packet.size() < rtp::kFixedHeaderSize) {
        return;
    }
    if (queue_.size() == kMaxPackets) {
        drop_front();
    }
    const uint32_t rtp_time = ByteReader(packet.subspan(kTimeAt)).u32();
    const MonoTime due = due_of(now, clock_hz, rtp_time);
    queue_.push_back({Bytes(packet.begin(), packet.end()), due});
    last_due_ = due;
    last_time_ = rtp_time;
    look(now, due - now);
}

// Of a bunch the first packet waits least. Where even that one waits too long, all do: the stream
// had stalled, or its clock is faster than ours.
void SipAudioPacer::look(MonoTime now, Micros wait) {
    if (looked_at_ == MonoTime{}) {
        looked_at_ = now;
        least_wait_ = wait;
    }
    least_wait_ = std::min(least_wait_, wait);
    if (now - looked_at_ < kLookPeriod) {
        return;
    }
    if (least_wait_ > kMaxStanding) {
        const MonoTime last = *last_due_;
        while (queue_.size() > 1 && last - *last_due_ < least_wait_ - kDelay) {
            drop_front();
        }
    }
    looked_at_ = now;
    least_wait_ = *last_due_ - now;
}

// What is behind it moves up.
void SipAudioPacer::drop_front() {
    const MonoTime gone = queue_.front().due;
    queue_.pop_front();
    dropped_++;
    const Micros step = (queue_.empty() ? *last_due_ : queue_.front().due) - gone;
    for (Waiting& each : queue_) {
        each.due -= step;
    }
    *last_due_ -= step;
    if (!queue_.empty()) {
        queue_.front().after_drop = true;
    }
}

// Half a tick early, so that one that is not quite in time makes no pair with the next; two in one
// tick only when the second is late.
std::optional<SipAudioPacer::Packet> SipAudioPacer::poll(MonoTime now) {
    const bool second = polled_at_ == now;
    const MonoTime until = second ? now - kTick / 2 : now + kTick / 2;
    if (queue_.empty() || queue_.front().due > until) {
        return std::nullopt;
    }
    polled_at_ = now;
    Packet packet{std::move(queue_.front().bytes), queue_.front().after_drop};
    queue_.pop_front();
    return packet;
}

void SipAudioPacer::clear() {
    queue_.clear();
    last_due_.reset();
    looked_at_ = {};
}

}  // namespace weir::session
