#include "net/ts/rtp_order.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "proto/rtp/header.h"

namespace weir::net {
namespace {

constexpr size_t kPacketBytes = 188;  // ISO/IEC 13818-1 §2.4.3.2
constexpr uint8_t kSync = 0x47;

// A sync byte at `phase` and each 188 bytes behind it. True where there is room for none.
bool in_step(ByteSpan bytes, size_t phase) {
    for (size_t at = phase; at < bytes.size(); at += kPacketBytes) {
        if (bytes[at] != kSync) {
            return false;
        }
    }
    return true;
}

// Where packets begin in bytes of which nothing is known: two of them at least must say so, or one
// where the bytes are a packet.
std::optional<size_t> find_phase(ByteSpan bytes) {
    for (size_t phase = 0; phase < kPacketBytes && phase < bytes.size(); phase++) {
        const bool enough =
            phase + kPacketBytes < bytes.size() || (phase == 0 && bytes.size() == kPacketBytes);
        if (enough && in_step(bytes, phase)) {
            return phase;
        }
    }
    return std::nullopt;
}

bool is_packets(ByteSpan bytes) {
    return bytes.size() % kPacketBytes == 0 && in_step(bytes, 0);
}

}  // namespace

RtpOrder::RtpOrder(RtpOrderOutput& output, const RtpOrderOptions& options)
    : output_(output),
      patience_(options.patience),
      slots_(std::clamp(std::bit_ceil(options.window), size_t{2}, RtpOrderOptions::kMaxWindow)) {}

void RtpOrder::feed(MonoTime now, ByteSpan datagram) {
    handle_timeout(now);
    if (datagram.empty()) {
        counters_.foreign++;
    } else {
        take(now, datagram);
    }
    handle_timeout(now);  // what was behind two holes may have waited long enough for the second
}

void RtpOrder::take(MonoTime now, ByteSpan datagram) {
    // A datagram of the stream itself that does not begin with a packet could look like RTP, but
    // not with whole packets behind the header; a short one with none behind it goes on in step.
    const bool goes_on = phase_ && in_step(datagram, *phase_);
    const auto packet = rtp::PacketView::parse(datagram);
    if (!goes_on && packet && !rtp::is_rtcp(datagram) && is_packets(packet->payload())) {
        phase_.reset();
        take_rtp(now, packet->ssrc(), packet->sequence(), packet->payload());
    } else {
        take_plain(now, datagram);
    }
}

// ---- without RTP ----

void RtpOrder::take_plain(MonoTime now, ByteSpan datagram) {
    const bool follows = phase_ && in_step(datagram, *phase_);
    if (!follows) {
        const std::optional<size_t> found = find_phase(datagram);
        if (!found) {
            counters_.foreign++;
            return;
        }
        if (phase_) {
            output_.on_gap();
        }
        datagram = datagram.subspan(*found);
        phase_ = 0;
    }
    counters_.plain++;
    phase_ = (*phase_ + kPacketBytes - datagram.size() % kPacketBytes) % kPacketBytes;
    output_.on_ordered(now, datagram);
}

// ---- RTP ----

void RtpOrder::take_rtp(MonoTime now, uint32_t ssrc, uint16_t sequence, ByteSpan payload) {
    if (!started_) {
        begin(ssrc, sequence);
    }
    const auto ahead = static_cast<uint16_t>(sequence - next_);
    const auto behind = static_cast<uint16_t>(next_ - sequence);
    if (ssrc != ssrc_ || (ahead > kMaxJump && behind > slots_.size())) {
        take_stranger(now, ssrc, sequence, payload);
        return;
    }
    candidate_.reset();  // who was there goes on
    if (ahead > kMaxJump) {
        take_behind(sequence);
        return;
    }
    while (static_cast<uint16_t>(sequence - next_) >= slots_.size() && held_ > 0) {
        skip_hole(now);
    }
    if (static_cast<uint16_t>(sequence - next_) >= slots_.size()) {
        give_up(static_cast<uint16_t>(sequence - next_));
    }
    if (sequence == next_) {
        counters_.packets++;
        counters_.reordered += held_ > 0 ? 1 : 0;
        deliver(now, payload);
        drain(now);
        return;
    }
    const auto ahead_of_next = static_cast<uint16_t>(sequence - next_);
    Slot& its = slot(sequence);
    if (its.filled) {
        counters_.duplicates++;
        return;
    }
    counters_.packets++;
    if (held_ > 0 && static_cast<uint16_t>(highest_ - next_) > ahead_of_next) {
        counters_.reordered++;
    } else {
        highest_ = sequence;
    }
    its.payload.assign(payload.begin(), payload.end());
    its.arrived = now;
    its.filled = true;
    held_++;
}

// One whose turn is over.
void RtpOrder::take_behind(uint16_t sequence) {
    const Slot& its = slot(sequence);
    if (its.was_there && its.delivered == sequence) {
        counters_.duplicates++;
    } else {
        counters_.late++;
    }
}

// Two that follow each other, and none between them of who was there: that one is gone.
void RtpOrder::take_stranger(MonoTime now, uint32_t ssrc, uint16_t sequence, ByteSpan payload) {
    if (!candidate_ || candidate_->ssrc != ssrc || candidate_->next != sequence) {
        counters_.foreign += candidate_ ? 1U : 0U;  // the one before it
        candidate_ = Candidate{};
        candidate_->ssrc = ssrc;
        candidate_->next = static_cast<uint16_t>(sequence + 1);
        candidate_->payload.assign(payload.begin(), payload.end());
        return;
    }
    const Candidate first = std::move(*candidate_);
    candidate_.reset();
    flush(now);
    output_.on_gap();
    counters_.restarts++;
    counters_.packets += 2;
    begin(ssrc, static_cast<uint16_t>(sequence - 1));
    deliver(now, first.payload);
    deliver(now, payload);
}

void RtpOrder::begin(uint32_t ssrc, uint16_t next) {
    started_ = true;
    ssrc_ = ssrc;
    next_ = next;
    for (Slot& each : slots_) {
        each.was_there = false;
    }
}

// The one that is due.
void RtpOrder::deliver(MonoTime now, ByteSpan payload) {
    Slot& its = slot(next_);
    its.was_there = true;
    its.delivered = next_++;
    if (!payload.empty()) {
        output_.on_ordered(now, payload);
    }
}

// So many from next_ on do not come any more. None of them is held.
void RtpOrder::give_up(size_t packets) {
    counters_.lost += packets;
    next_ = static_cast<uint16_t>(next_ + packets);
    output_.on_gap();
}

// What follows without a hole.
void RtpOrder::drain(MonoTime now) {
    for (Slot* its = &slot(next_); its->filled; its = &slot(next_)) {
        its->filled = false;
        held_--;
        deliver(now, its->payload);
    }
}

// Packets that are missing up to the first that is held, which there must be.
size_t RtpOrder::hole() const {
    size_t missing = 0;
    while (!slots_[(next_ + missing) % slots_.size()].filled) {
        missing++;
    }
    return missing;
}

void RtpOrder::skip_hole(MonoTime now) {
    give_up(hole());
    drain(now);
}

void RtpOrder::flush(MonoTime now) {
    while (held_ > 0) {
        skip_hole(now);
    }
}

void RtpOrder::handle_timeout(MonoTime now) {
    for (auto due = next_timeout(); due && now >= *due; due = next_timeout()) {
        skip_hole(now);
    }
}

std::optional<MonoTime> RtpOrder::next_timeout() const {
    if (held_ == 0) {
        return std::nullopt;
    }
    return slots_[(next_ + hole()) % slots_.size()].arrived + patience_;
}

}  // namespace weir::net
