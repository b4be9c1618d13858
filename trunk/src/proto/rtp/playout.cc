// The numbers and times that are held are continued over restarts of the source: `highest_` and
// `time_` are those of its newest packet. next_sequence_ is never beyond highest_ + 1, and
// everything in held_ is from next_sequence_ on.
#include "proto/rtp/playout.h"

#include <algorithm>
#include <utility>

namespace weir::rtp {
namespace {

using Content = PlayoutPacketView::Content;

// RFC 3550 A.1: a step of the sequence number beyond these is another sequence, if the next packet
// follows it.
constexpr int kMaxDropout = 3000;
constexpr int kMaxMisorder = 100;

constexpr uint32_t kChoiceEvery = 10;  // packets
constexpr Micros kSlack = Millis(5);   // around what is aimed at
// A target that was right for a while is left slowly: 5 ms in a second of packets of 20 ms.
constexpr Micros kTargetDecay = Millis(1);

int64_t since_epoch(MonoTime time) {
    return std::chrono::duration_cast<Micros>(time.time_since_epoch()).count();
}

}  // namespace

PlayoutBuffer::PlayoutBuffer(const PlayoutOptions& options)
    : options_(options), packet_ticks_(options.tick_size) {
    target_ = micros(packet_ticks_);
    stats_.target = target_;
}

void PlayoutBuffer::handle_packet(MonoTime now, const PlayoutPacketView& packet) {
    const bool audio = packet.content == Content::kAudio;
    if (packet.payload.size() > kMaxPayload ||
        (audio &&
         (packet.ticks == 0 || packet.payload.empty() || packet.ticks > options_.clock_hz))) {
        return;
    }
    Held held;
    held.content = packet.content;
    held.ticks = audio ? packet.ticks : 0;
    if (!place(now, packet, held)) {
        return;
    }
    stats_.received++;
    if (audio) {
        note_transit(now, held);
    }
    if (held.sequence < next_sequence_) {
        stats_.late++;
        return;
    }
    hold(std::move(held), packet.payload);
}

void PlayoutBuffer::begin_source(MonoTime now, const PlayoutPacketView& packet) {
    stats_.restarts += started_ ? 1 : 0;
    restart_ = started_;
    ssrc_ = packet.ssrc;
    highest_ = started_ ? highest_ + 1 : packet.sequence;
    highest_raw_ = packet.sequence;
    time_ = started_ ? std::max(end_, play_time_) : 0;
    time_raw_ = packet.rtp_time;
    arrival_ = now;
    if (!started_) {
        next_sequence_ = highest_;
    }
    started_ = true;
    stray_.reset();
    clear_transits();
}

// Gives the packet its place in the continued numbers and times; false: it has none.
bool PlayoutBuffer::place(MonoTime now, const PlayoutPacketView& packet, Held& out) {
    if (!started_ || packet.ssrc != ssrc_) {
        begin_source(now, packet);
    }
    int distance = static_cast<int16_t>(packet.sequence - highest_raw_);
    if (distance > kMaxDropout || distance < -kMaxMisorder) {
        if (is_stray(packet)) {
            return false;
        }
        begin_source(now, packet);
        distance = 0;
    } else {
        stray_.reset();
    }
    out.sequence = highest_ + distance;
    const bool newest = distance >= 0;
    if (!place_time(now, packet, newest, out)) {
        return false;
    }
    if (newest) {
        highest_ = out.sequence;
        highest_raw_ = packet.sequence;
        out.restart = out.content == Content::kAudio && std::exchange(restart_, false);
    }
    return true;
}

bool PlayoutBuffer::is_stray(const PlayoutPacketView& packet) {
    const bool follows = stray_ == packet.sequence;
    stray_ = static_cast<uint16_t>(packet.sequence + 1);
    return !follows;
}

bool PlayoutBuffer::place_time(MonoTime now,
                               const PlayoutPacketView& packet,
                               bool newest,
                               Held& out) {
    if (packet.content == Content::kOther) {
        out.time = time_;  // an event has the time of its beginning, whenever it is sent
        return true;
    }
    const auto step = static_cast<int32_t>(packet.rtp_time - time_raw_);
    out.time = time_ + step;
    const int64_t elapsed = ticks(now - arrival_);
    const int64_t jump = ticks(kMaxJump);
    if (step - elapsed > jump || elapsed - step > jump) {
        if (!newest) {
            return false;
        }
        stats_.restarts++;
        out.time = std::max(end_, play_time_);
        clear_transits();
    }
    if (newest) {
        time_ = out.time;
        time_raw_ = packet.rtp_time;
        arrival_ = now;
        end_ = std::max(end_, out.time + out.ticks);
    }
    return true;
}

void PlayoutBuffer::hold(Held&& held, ByteSpan payload) {
    const auto at =
        std::lower_bound(held_.begin(), held_.end(), held.sequence,
                         [](const Held& a, int64_t sequence) { return a.sequence < sequence; });
    if (at != held_.end() && at->sequence == held.sequence) {
        stats_.duplicates++;
        return;
    }
    if (!spare_.empty()) {
        held.payload = std::move(spare_.back());
        spare_.pop_back();
    }
    held.payload.assign(payload.begin(), payload.end());
    held_.insert(at, std::move(held));
    if (held_.size() > kMaxPackets) {
        // Nobody plays, or the source sends far too much: the oldest goes.
        Held oldest = take_front();
        stats_.dropped++;
        play_time_ = std::max(play_time_, oldest.time + oldest.ticks);
        recycle(std::move(oldest.payload));
        broken_ = true;
    }
}

void PlayoutBuffer::clear_transits() {
    transits_.clear();
    transit_at_ = 0;
    until_choice_ = 0;
}

void PlayoutBuffer::note_transit(MonoTime now, const Held& held) {
    const int64_t transit = since_epoch(now) - micros(held.time).count();
    if (transits_.empty()) {
        transits_.reserve(kTransits);
        transit_origin_ = transit;
        fastest_ = 0;
        last_transit_ = 0;
    }
    const auto value = static_cast<int32_t>(
        std::clamp<int64_t>(transit - transit_origin_, INT32_MIN / 2, INT32_MAX / 2));
    const int64_t change = std::abs(int64_t{value} - last_transit_);
    jitter_q4_ += change - jitter_q4_ / 16;
    stats_.jitter = Micros(jitter_q4_ / 16);
    last_transit_ = value;
    packet_ticks_ = held.ticks;
    if (transits_.size() < kTransits) {
        transits_.push_back(value);
    } else {
        transits_[transit_at_] = value;
        transit_at_ = (transit_at_ + 1) % kTransits;
    }
    fastest_ = std::min(fastest_, value);
    if (until_choice_ == 0) {
        choose_target();
        until_choice_ = kChoiceEvery;
    }
    until_choice_--;
}

void PlayoutBuffer::choose_target() {
    std::array<int32_t, kTransits> sorted{};
    const auto end = std::copy(transits_.begin(), transits_.end(), sorted.begin());
    fastest_ = *std::min_element(sorted.begin(), end);
    const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(transits_.size() * 95 / 100);
    std::nth_element(sorted.begin(), at, end);
    const Micros wanted = Micros(int64_t{*at} - fastest_);
    lateness_ = std::min(std::max(wanted, lateness_ - kTargetDecay), options_.max_delay);
    target_ = std::max(lateness_, std::min(micros(packet_ticks_), options_.max_delay));
    stats_.target = target_;
}

// How long a packet of that time, had it come as fast as the fastest, would have waited until what
// comes now is heard.
Micros PlayoutBuffer::delay_of(int64_t time, MonoTime now, const Owner& owner) const {
    return Micros(since_epoch(now) - transit_origin_ - fastest_) + micros(owner.buffered) -
           micros(time);
}

// The same up to now: how late a packet may come and still be there when it is needed. It is less
// than the delay by what the owner still has to play.
Micros PlayoutBuffer::reserve_of(int64_t time, MonoTime now) const {
    return delay_of(time, now, {});
}

// Comfort noise before any audio has nothing to wait for.
bool PlayoutBuffer::is_due(MonoTime now, const Owner& owner) const {
    return transits_.empty() ? held_.front().content == Content::kComfortNoise
                             : delay_of(held_.front().time, now, owner) >= target_;
}

PlayoutBuffer::Held PlayoutBuffer::take_front() {
    Held front = std::move(held_.front());
    held_.erase(held_.begin());
    stats_.lost += static_cast<uint64_t>(front.sequence - next_sequence_);
    next_sequence_ = front.sequence + 1;
    return front;
}

void PlayoutBuffer::recycle(Bytes&& payload) {
    if (payload.capacity() > 0 && spare_.size() < kMaxSpare) {
        spare_.push_back(std::move(payload));
    }
}

PlayoutStepView PlayoutBuffer::next(MonoTime now, const Owner& owner) {
    recycle(std::exchange(current_, {}));
    while (!held_.empty() && held_.front().content == Content::kOther) {
        quiet_ = true;
        recycle(take_front().payload);
    }
    if (stage_ == Stage::kPlaying) {
        return play(now, owner);
    }
    if (!held_.empty() && is_due(now, owner)) {
        stage_ = Stage::kPlaying;
        play_time_ = held_.front().time;
        if (!transits_.empty()) {
            drop_excess(now, owner);
        }
        return give(now, owner);
    }
    return stage_ == Stage::kWaiting ? PlayoutStepView() : silence();
}

PlayoutStepView PlayoutBuffer::play(MonoTime now, const Owner& owner) {
    leave_out_late();
    if (held_.empty()) {
        if (quiet_ || micros(concealed_) >= kMaxConcealed) {
            return silence();
        }
        ahead_ += options_.tick_size;
        return conceal(options_.tick_size);
    }
    if (drop_excess(now, owner)) {
        return give(now, owner);
    }
    const Held& front = held_.front();
    // Concealment that was heard already counts for what is missing.
    const int64_t missing = front.time - play_time_ - ahead_;
    if (missing < options_.tick_size / 2) {
        return give(now, owner);
    }
    if (quiet_ || front.sequence == next_sequence_ || micros(concealed_) >= kMaxConcealed) {
        return silence();  // the source said nothing there, or too much is lost
    }
    if (reserve_of(play_time_, now) < lateness_) {
        // It may still come, and the delay has to grow anyway.
        ahead_ += options_.tick_size;
        return conceal(options_.tick_size);
    }
    play_time_ += std::exchange(ahead_, 0);
    const auto ticks = static_cast<uint32_t>(std::min<int64_t>(missing, options_.tick_size));
    play_time_ += ticks;
    return conceal(ticks);
}

// Packets whose whole time was concealed before they came.
void PlayoutBuffer::leave_out_late() {
    while (!held_.empty() && held_.front().content == Content::kAudio &&
           held_.front().time + held_.front().ticks <= play_time_) {
        stats_.late++;
        stats_.lost++;
        recycle(take_front().payload);
    }
}

// Beyond the greatest delay: forward to the target. True when packets were dropped.
bool PlayoutBuffer::drop_excess(MonoTime now, const Owner& owner) {
    const Micros most = options_.max_delay + micros(packet_ticks_) + kSlack;
    if (delay_of(held_.front().time, now, owner) <= most) {
        return false;
    }
    while (held_.size() > 1 && delay_of(held_.front().time, now, owner) > target_ + kSlack) {
        recycle(take_front().payload);
        stats_.dropped++;
        broken_ = true;
    }
    play_time_ = held_.front().time;
    return broken_;
}

PlayoutStepView PlayoutBuffer::give(MonoTime now, const Owner& owner) {
    const bool plain = concealed_ == 0 && !broken_;
    const int64_t time = held_.front().time;
    Held front = take_front();
    current_ = std::move(front.payload);
    concealed_ = 0;
    ahead_ = 0;
    quiet_ = front.content != Content::kAudio;
    if (quiet_) {
        PlayoutStepView step = silence();
        if (front.content == Content::kComfortNoise) {
            step.payload = current_;
        }
        return step;
    }
    PlayoutStepView step;
    step.kind = PlayoutKind::kFrame;
    step.ticks = front.ticks;
    step.payload = current_;
    step.restart = front.restart;
    step.broken = std::exchange(broken_, false);
    play_time_ = time + front.ticks;
    stats_.delay = delay_of(time, now, owner);
    if (plain) {
        step.adjust = choose_adjust(now, owner, reserve_of(time, now));
    }
    return step;
}

PlayoutAdjust PlayoutBuffer::choose_adjust(MonoTime now, const Owner& owner, Micros reserve) {
    if (!owner.silent && now < adjusted_ + kAdjustPause) {
        return PlayoutAdjust::kNone;
    }
    if (stats_.delay > target_ + micros(packet_ticks_) + kSlack) {
        stats_.shortened++;
        adjusted_ = now;
        return PlayoutAdjust::kShorten;
    }
    if (reserve < std::min(lateness_ + kSlack, options_.max_delay)) {
        stats_.stretched++;
        adjusted_ = now;
        return PlayoutAdjust::kStretch;
    }
    return PlayoutAdjust::kNone;
}

PlayoutStepView PlayoutBuffer::conceal(uint32_t ticks) {
    concealed_ += ticks;
    stats_.concealed++;
    PlayoutStepView step;
    step.kind = PlayoutKind::kLost;
    step.ticks = ticks;
    return step;
}

PlayoutStepView PlayoutBuffer::silence() {
    stage_ = Stage::kGap;
    PlayoutStepView step;
    step.kind = PlayoutKind::kSilence;
    step.ticks = options_.tick_size;
    return step;
}

}  // namespace weir::rtp
