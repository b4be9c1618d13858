// Sequence numbers: everything below buffer_.next() is given out or given up; highest_ is the last
// one seen; what is in between is in buffer_ or in missing_.
#include "proto/rtp/receiver.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "proto/rtp/rtx.h"

namespace weir::rtp {
namespace {

// Four requests one round trip apart and their answers (nack_tracker.h), and some slack.
constexpr int kWaitRttHalves = 9;
constexpr Micros kWaitSlack = Millis(50);
constexpr Micros kMinWait = Millis(100);

// Nothing will be sent again: only packets that overtook each other are waited for.
constexpr int kReorderJitters = 3;
constexpr Micros kMinReorderWait = Millis(20);
constexpr Micros kMaxReorderWait = Millis(100);

constexpr Micros kMaxRtt = Seconds(2);
constexpr uint8_t kManyAmbiguous = 16;

// So many late packets in a row, each one behind the other, are a source that started anew.
constexpr uint16_t kLateRunOfRestart = 64;

constexpr size_t kNackBatch = 64;
constexpr size_t kNackBatchBytes =
    rtcp::kHeaderSize + 8 + kNackBatch * rtcp::kNackEntrySize;  // when none share an entry

}  // namespace

Receiver::Receiver(const ReceiverOptions& options) : options_(options), stats_(options.clock_hz) {}

Receiver::Outcome Receiver::handle_packet(MonoTime now, ByteSpan packet) {
    WEIR_DCHECK(!direct_);  // it would be a view of bytes that are gone
    direct_.reset();
    now_ = now;
    const std::optional<PacketView> view = PacketView::parse(packet);
    if (!view || packet.size() > kMaxPacketSize) {
        counters_.malformed++;
        return Outcome::kMalformed;
    }
    if (view->ssrc() == options_.ssrc) {
        return handle_media(*view, packet);
    }
    if (options_.rtx_ssrc && view->ssrc() == *options_.rtx_ssrc) {
        return handle_rtx(*view, packet);
    }
    return Outcome::kIgnored;
}

Receiver::Outcome Receiver::handle_media(const PacketView& view, ByteSpan packet) {
    counters_.packets++;
    counters_.bytes += packet.size();
    int64_t sequence = unwrapper_.peek(view.sequence());
    if (!started_) {
        started_ = true;
        highest_ = sequence - 1;
        buffer_.restart(sequence);
    } else if (is_far(sequence)) {
        if (handle_far(view) == Outcome::kIgnored) {
            return Outcome::kIgnored;
        }
        sequence = view.sequence();
    }
    suspect_.reset();
    unwrapper_.unwrap(view.sequence());
    stats_.on_packet(sequence, view.timestamp(), now_);
    if (sequence < buffer_.next()) {
        return count_late(view.sequence());
    }
    late_run_ = 0;
    return place(sequence, view, packet);
}

Receiver::Outcome Receiver::handle_rtx(const PacketView& view, ByteSpan packet) {
    counters_.retransmitted++;
    const std::optional<uint16_t> original = rtx_original_sequence(view);
    if (!original || !started_) {
        return Outcome::kIgnored;
    }
    const int64_t sequence = unwrapper_.peek(*original);
    if (is_far(sequence)) {
        return Outcome::kIgnored;
    }
    if (sequence < buffer_.next()) {
        counters_.late++;
        return Outcome::kRepeated;
    }
    if (buffer_.holds(sequence)) {
        counters_.duplicates++;
        return Outcome::kRepeated;
    }
    if (sequence >= buffer_.next() + kMaxHeldPackets) {
        return Outcome::kIgnored;
    }
    find_gap(sequence);
    unwrapper_.unwrap(*original);
    const bool recovered = note_arrival(sequence, true);
    buffer_.insert_with(sequence, recovered, now_, [&](std::span<uint8_t> out) {
        return unwrap_rtx(packet, view, options_.ssrc, options_.payload_type, out);
    });
    return Outcome::kAccepted;
}

bool Receiver::is_far(int64_t sequence) const {
    return sequence > highest_ + kMaxJump || sequence < buffer_.next() - kMaxJump;
}

// RFC 3550 A.1: two packets in a row far away are a source that started anew; one is a stray.
Receiver::Outcome Receiver::handle_far(const PacketView& view) {
    if (suspect_ != view.sequence()) {
        suspect_ = static_cast<uint16_t>(view.sequence() + 1);
        return Outcome::kIgnored;
    }
    restart(view);
    return Outcome::kAccepted;
}

void Receiver::restart(const PacketView& view) {
    counters_.restarts++;
    restarted_ = true;
    lost_ = 0;
    late_run_ = 0;
    missing_.clear();
    unwrapper_.reset();
    stats_.restart();
    buffer_.restart(view.sequence());
    highest_ = int64_t{view.sequence()} - 1;
}

Receiver::Outcome Receiver::count_late(uint16_t sequence) {
    counters_.late++;
    late_run_ = sequence == late_next_ ? static_cast<uint16_t>(late_run_ + 1) : uint16_t{1};
    late_next_ = static_cast<uint16_t>(sequence + 1);
    if (late_run_ == kLateRunOfRestart) {
        // The next one is taken as the first of the source.
        counters_.restarts++;
        restarted_ = true;
        started_ = false;
        missing_.clear();
        unwrapper_.reset();
        stats_.restart();
    }
    return Outcome::kRepeated;
}

// `sequence` is buffer_.next() or later.
Receiver::Outcome Receiver::place(int64_t sequence, const PacketView& view, ByteSpan packet) {
    if (sequence >= buffer_.next() + kMaxHeldPackets) {
        overflow(sequence);
    }
    find_gap(sequence);
    if (buffer_.holds(sequence)) {
        counters_.duplicates++;
        return Outcome::kRepeated;
    }
    const bool recovered = note_arrival(sequence, false);
    if (sequence == buffer_.next()) {
        buffer_.advance();
        give(view, sequence, now_, recovered);
    } else {
        buffer_.insert(sequence, packet, recovered, now_);
    }
    return Outcome::kAccepted;
}

// Notes what is missing between the last packet and this one.
void Receiver::find_gap(int64_t sequence) {
    if (sequence <= highest_) {
        return;
    }
    if (!missing_.add(highest_ + 1, sequence, now_)) {
        overflow(sequence);
    }
    highest_ = sequence;
}

// True when the packet had been asked for.
bool Receiver::note_arrival(int64_t sequence, bool by_rtx) {
    const std::optional<NackTracker::Found> found = missing_.remove(sequence);
    if (!found || found->requests == 0) {
        return false;
    }
    counters_.recovered++;
    measure(*found, by_rtx);
    return true;
}

// Only the answer to a single request tells the round trip. While there are none, requests are
// repeated too early: then the longest time that an answer can have taken is believed, until there
// is a single request again.
void Receiver::measure(const NackTracker::Found& found, bool by_rtx) {
    if (found.requests > 1) {
        ambiguous_ = std::min<uint8_t>(ambiguous_, kManyAmbiguous - 1) + 1;
        if (!rtt_known_ || ambiguous_ == kManyAmbiguous) {
            rtt_known_ = false;
            rtt_ = std::clamp(Micros(now_ - found.since - kReorderDelay), rtt_, kMaxRtt);
        }
        return;
    }
    ambiguous_ = 0;
    // Without RTX it may be the first one, which was only late: half is the least to believe.
    const Micros sample = now_ - found.asked;
    const Micros believed = by_rtx ? sample : std::max(sample, rtt_ / 2);
    rtt_ = std::min(rtt_known_ ? (7 * rtt_ + believed) / 8 : believed, kMaxRtt);
    rtt_known_ = true;
}

// Gives up everything before `sequence`, held packets included: only a key frame helps.
void Receiver::overflow(int64_t sequence) {
    counters_.overflows++;
    lost_ += sequence - buffer_.next();
    counters_.lost += static_cast<uint64_t>(sequence - buffer_.next());
    missing_.clear();
    buffer_.restart(sequence);
    highest_ = sequence - 1;
}

void Receiver::give(const PacketView& view, int64_t sequence, MonoTime arrival, bool recovered) {
    if (view.payload().empty()) {
        return;  // padding: only its sequence number counts
    }
    direct_.emplace();
    direct_->packet = view;
    direct_->sequence = sequence;
    direct_->arrival = arrival;
    direct_->recovered = recovered;
}

void Receiver::handle_sender_report(MonoTime now, rtcp::NtpTime ntp_time) {
    stats_.on_sender_report(ntp_time, now);
}

std::optional<MonoTime> Receiver::next_timeout() const {
    std::optional<MonoTime> next;
    if (const std::optional<MonoTime> oldest = missing_.oldest()) {
        next = *oldest + wait();
    }
    if (options_.nack) {
        if (const std::optional<MonoTime> due = missing_.next_due(rtt_, kReorderDelay)) {
            next = next ? std::min(*next, *due) : *due;
        }
    }
    return next;
}

bool Receiver::poll_event(ReceiverEvent& out) {
    if (restarted_ || lost_ > 0) {
        out = {};
        out.kind = restarted_ ? ReceiverEvent::Kind::kRestarted : ReceiverEvent::Kind::kLost;
        out.lost = lost_;
        restarted_ = false;
        lost_ = 0;
        return true;
    }
    if (direct_) {
        out = *direct_;
        direct_.reset();
        return true;
    }
    while (const HeldPacket* held = buffer_.pop()) {
        const std::optional<PacketView> view = PacketView::parse(held->span());
        if (view && !view->payload().empty()) {
            out = {};
            out.packet = *view;
            out.sequence = held->sequence;
            out.arrival = held->arrival;
            out.recovered = held->recovered;
            return true;
        }
    }
    const std::optional<MonoTime> oldest = missing_.oldest();
    if (!oldest || now_ < *oldest + wait()) {
        return false;
    }
    WEIR_DCHECK(buffer_.held() > 0);  // what is missing was found by one that came behind it
    out = {};
    out.kind = ReceiverEvent::Kind::kLost;
    out.lost = buffer_.skip_missing();
    missing_.forget_before(buffer_.next());
    counters_.lost += static_cast<uint64_t>(out.lost);
    return true;
}

bool Receiver::poll_transmit(uint32_t local_ssrc, rtcp::CompoundWriter& writer) {
    bool any = false;
    while (options_.nack && writer.room() >= kNackBatchBytes) {
        std::array<uint16_t, kNackBatch> due{};
        const size_t count = missing_.take_due(now_, rtt_, kReorderDelay, due);
        if (count == 0) {
            break;
        }
        writer.nack({local_ssrc, options_.ssrc}, std::span(due).first(count));
        any = true;
    }
    return any;
}

bool Receiver::report(MonoTime now, rtcp::ReportBlock& out) {
    if (!stats_.started()) {
        return false;
    }
    out = stats_.report(options_.ssrc, now);
    return true;
}

void Receiver::set_rtt(Micros rtt) {
    rtt_ = std::clamp(rtt, Micros(0), kMaxRtt);
    rtt_known_ = true;
}

Micros Receiver::wait() const {
    if (!options_.nack) {
        return std::clamp(kReorderJitters * stats_.jitter(), kMinReorderWait,
                          std::min(kMaxReorderWait, options_.max_wait));
    }
    return std::min(std::max(kWaitRttHalves * rtt_ / 2 + kWaitSlack, kMinWait), options_.max_wait);
}

}  // namespace weir::rtp
