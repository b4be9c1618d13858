#include "net/ts/fec_recovery.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "proto/rtp/header.h"

namespace weir::net {
namespace {

constexpr uint16_t kMaxJump = 3000;  // RFC 3550 §A.1: more is a sender that restarted
constexpr double kSmoothing = 1.0 / 64;
constexpr Millis kMargin{50};  // of patience: for packets that come in bursts

}  // namespace

FecRecovery::FecRecovery(FecOutput& output) : output_(output), slots_(kFirstPackets) {}

bool FecRecovery::has(uint16_t sequence) const {
    const Slot& its = slots_[sequence % slots_.size()];
    return its.filled && its.sequence == sequence;
}

// ---- media ----

void FecRecovery::feed_media(MonoTime now, ByteSpan datagram) {
    const auto packet = rtp::PacketView::parse(datagram);
    if (!packet || datagram.size() > fec::kMaxDatagram || rtp::is_rtcp(datagram)) {
        return;
    }
    if (take(packet->ssrc(), packet->sequence(), datagram)) {
        counters_.media++;
        expire();
        measure(now);
        settled_.assign(1, packet->sequence());
        settle(now);
    }
}

// False: it was there, or its turn is over.
bool FecRecovery::take(uint32_t ssrc, uint16_t sequence, ByteSpan datagram) {
    if (!follow(ssrc, sequence) || has(sequence)) {
        return false;
    }
    Slot& its = slot(sequence);
    its.datagram.assign(datagram.begin(), datagram.end());
    its.sequence = sequence;
    its.filled = true;
    its.missed = false;
    return true;
}

bool FecRecovery::follow(uint32_t ssrc, uint16_t sequence) {
    const auto ahead = static_cast<uint16_t>(sequence - newest_);
    const auto behind = static_cast<uint16_t>(newest_ - sequence);
    if (!started_ || ssrc != ssrc_ || (ahead > kMaxJump && behind > kMaxJump)) {
        restart(ssrc, sequence);
        return true;
    }
    if (ahead <= kMaxJump) {
        newest_ = sequence;
        return true;
    }
    return behind < slots_.size();
}

void FecRecovery::restart(uint32_t ssrc, uint16_t sequence) {
    counters_.restarts += started_ ? 1 : 0;
    started_ = true;
    ssrc_ = ssrc;
    newest_ = sequence;
    waiting_.clear();
    blocks_.clear();
    for (Slot& each : slots_) {
        each.filled = false;
        each.missed = false;
    }
}

void FecRecovery::measure(MonoTime now) {
    if (last_ != MonoTime()) {
        const auto passed =
            static_cast<double>(std::chrono::duration_cast<Micros>(now - last_).count());
        interval_us_ += (passed - interval_us_) * kSmoothing;
    }
    last_ = now;
}

Millis FecRecovery::patience() const {
    if (!has_column_ && counters_.media < kFirstWait) {
        return kFirstPatience;
    }
    const auto two = static_cast<int64_t>(interval_us_ * 2 * static_cast<double>(matrix_));
    return std::clamp(std::chrono::duration_cast<Millis>(Micros(two)) + kMargin, kMinPatience,
                      kMaxPatience);
}

// ---- parities ----

void FecRecovery::feed_parity(MonoTime now, ByteSpan datagram) {
    if (const auto block = fec::BlockParityView::parse(datagram)) {
        feed_block(now, *block);
        return;
    }
    const auto view = fec::ParityView::parse(datagram);
    if (!view) {
        counters_.malformed++;
        return;
    }
    counters_.parities++;
    fit(view->is_row ? size_t{view->count} : size_t{view->offset} * view->count, view->is_row);
    if (!started_ || is_over(view->first) || is_far(view->first)) {
        counters_.dropped++;
        return;
    }
    const size_t gone = missing(places(*view));
    if (gone == 0) {
        return;
    }
    if (gone > 1) {
        if (waiting_.size() == kMaxParities) {
            counters_.dropped++;
            return;
        }
        Waiting& its = waiting_.emplace_back();
        its.datagram.assign(datagram.begin(), datagram.end());
        its.view = *view;
        its.view.body = ByteSpan(its.datagram).last(view->body.size());
        its.missing = gone;
        return;
    }
    uint16_t sequence = 0;
    if (recover(now, *view, sequence)) {
        settled_.assign(1, sequence);
        settle(now);
    }
}

void FecRecovery::feed_block(MonoTime now, const fec::BlockParityView& view) {
    counters_.parities++;
    fit(view.data, false);
    if (!started_ || is_over(view.first) || is_far(view.first)) {
        counters_.dropped++;
        return;
    }
    const size_t gone = missing({.first = view.first, .count = view.data});
    if (gone == 0) {
        return;
    }
    counters_.dropped += blocks_.add(view, gone) ? 0U : 1U;
    settled_.clear();
    settle_blocks(now);
    settle(now);
}

// Room for four matrices: the one that is sent, the one whose parities come, and what is late. Rows
// alone do not say how large a matrix is.
void FecRecovery::fit(size_t matrix, bool is_row) {
    const bool is_first_column = !is_row && !has_column_;
    has_column_ = has_column_ || !is_row;
    matrix_ = std::max(matrix_, matrix);
    const size_t wanted = std::clamp(std::bit_ceil(4 * matrix_), kMinPackets, kMaxPackets);
    if (wanted == slots_.size() || (wanted < slots_.size() && !is_first_column)) {
        return;
    }
    std::vector<Slot> old(wanted);
    old.swap(slots_);
    for (Slot& each : old) {
        const auto age = static_cast<uint16_t>(newest_ - each.sequence);
        if ((each.filled || each.missed) && age < wanted) {
            const uint16_t sequence = each.sequence;
            slot(sequence) = std::move(each);
        }
    }
}

// Its media are older than what is kept for it.
bool FecRecovery::is_over(uint16_t first) const {
    const auto age = static_cast<uint16_t>(newest_ - first);
    return age < 0x8000 && age >= slots_.size() / 4 * 3;
}

// Its media are so far ahead that they are not of this sender.
bool FecRecovery::is_far(uint16_t first) const {
    const auto ahead = static_cast<uint16_t>(first - newest_);
    return ahead < 0x8000 && ahead > slots_.size() / 4;
}

size_t FecRecovery::missing(const Places& places) const {
    size_t gone = 0;
    for (size_t i = 0; i < places.count; i++) {
        gone += has(static_cast<uint16_t>(places.first + i * places.offset)) ? 0U : 1U;
    }
    return gone;
}

// Parities of which no packet may come any more.
void FecRecovery::expire() {
    std::erase_if(waiting_, [this](const Waiting& each) {
        if (!is_over(each.view.first)) {
            return false;
        }
        miss(places(each.view));
        return true;
    });
    if (blocks_.empty()) {
        return;
    }
    for (const FecBlocks::Block& each :
         blocks_.take_if([this](uint16_t first) { return is_over(first); })) {
        miss({.first = each.first, .count = each.data});
    }
}

void FecRecovery::miss(const Places& places) {
    for (size_t i = 0; i < places.count; i++) {
        const auto sequence = static_cast<uint16_t>(places.first + i * places.offset);
        Slot& its = slot(sequence);
        if (has(sequence) || (its.missed && its.sequence == sequence)) {
            continue;
        }
        counters_.unrecoverable++;
        its.sequence = sequence;  // what was there is older than the window
        its.filled = false;
        its.missed = true;
    }
}

// The packets of settled_ are there now, and what follows from them.
void FecRecovery::settle(MonoTime now) {
    while (!settled_.empty()) {
        const uint16_t settled = settled_.back();
        settled_.pop_back();
        settle_parities(now, settled);
        if (!blocks_.empty()) {
            blocks_.note(settled);
            settle_blocks(now);
        }
    }
}

void FecRecovery::settle_parities(MonoTime now, uint16_t settled) {
    for (size_t i = 0; i < waiting_.size();) {
        Waiting& each = waiting_[i];
        if (!each.view.protects(settled) || --each.missing > 1) {
            i++;
            continue;
        }
        const Waiting whole = std::move(each);  // its bytes stay where they are
        if (i + 1 < waiting_.size()) {
            waiting_[i] = std::move(waiting_.back());
        }
        waiting_.pop_back();
        uint16_t recovered = 0;
        if (recover(now, whole.view, recovered)) {
            settled_.push_back(recovered);
        }
    }
}

void FecRecovery::settle_blocks(MonoTime now) {
    while (const auto block = blocks_.take_whole()) {
        if (block->missing == 0) {
            continue;
        }
        const auto packets = blocks_.recover(*block, ssrc_, [this](uint16_t sequence) {
            return has(sequence) ? ByteSpan(slot(sequence).datagram) : ByteSpan();
        });
        counters_.malformed += packets.empty() ? 1U : 0U;
        for (const FecBlocks::Packet& each : packets) {
            if (take(ssrc_, each.sequence, each.datagram)) {
                counters_.recovered++;
                settled_.push_back(each.sequence);
                output_.on_recovered(now, each.datagram);
            }
        }
    }
}

// The one packet of it that is missing. False: none is, or it cannot be made.
bool FecRecovery::recover(MonoTime now, const fec::ParityView& view, uint16_t& sequence) {
    parity_.clear();
    parity_.add(view);
    bool is_missing = false;
    for (size_t i = 0; i < view.count; i++) {
        const auto each = static_cast<uint16_t>(view.first + i * view.offset);
        if (has(each)) {
            parity_.add(slot(each).datagram);
        } else {
            sequence = each;
            is_missing = true;
        }
    }
    if (!is_missing) {
        return false;
    }
    const auto packet = parity_.recover(sequence, ssrc_);
    if (!packet) {
        counters_.malformed++;
        return false;
    }
    if (!take(ssrc_, sequence, *packet)) {
        return false;
    }
    counters_.recovered++;
    output_.on_recovered(now, *packet);
    return true;
}

}  // namespace weir::net
