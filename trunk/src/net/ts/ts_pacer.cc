#include "net/ts/ts_pacer.h"

#include <algorithm>

#include "proto/mpegts/packet.h"

namespace weir::net {
namespace {

using mpegts::kPacketSize;

constexpr uint64_t kPcrWrap = (mpegts::kTimeMask + 1) * mpegts::kPcrPerTick;
constexpr uint64_t kPcrPerMicro = 27;

}  // namespace

void TsPacer::feed(MonoTime now, ByteSpan packets) {
    for (; packets.size() >= kPacketSize; packets = packets.subspan(kPacketSize)) {
        const ByteSpan bytes = packets.first(kPacketSize);
        const std::optional<mpegts::Packet> packet = mpegts::Packet::parse(bytes);
        if (packet && packet->pcr && (!clock_ || packet->pid == clock_pid_)) {
            clock_pid_ = packet->pid;
            take_clock(now, *packet->pcr);
        }
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        open_++;
    }
    const bool waits_too_long = clock_ && now > clock_time_ + kMaxStep;
    if (!clock_ || waits_too_long || this->bytes() > kMaxBytes) {
        close(now, Micros(0));
        clock_.reset();
    }
}

// The packet of the clock comes next.
void TsPacer::take_clock(MonoTime now, uint64_t pcr) {
    const uint64_t step =
        clock_ ? (pcr + kPcrWrap - *clock_) % kPcrWrap / kPcrPerMicro : uint64_t{0};
    const Micros length(static_cast<int64_t>(std::min<uint64_t>(step, kPcrWrap)));
    const MonoTime due = clock_time_ + length;
    const bool follows = clock_ && length <= kMaxStep && length > Micros(0) && due >= now &&
                         due <= now + kDelay + kMaxStep;
    if (follows) {
        close(clock_time_, length);
        clock_time_ = due;
    } else {
        restarts_ += clock_ ? 1U : 0U;
        close(spans_.empty() ? now : spans_.back().begin + spans_.back().length, Micros(0));
        clock_time_ = now + kDelay;
    }
    clock_ = pcr;
}

void TsPacer::close(MonoTime begin, Micros length) {
    if (open_ > 0) {
        spans_.push_back({open_, 0, begin, length});
        open_ = 0;
    }
}

size_t TsPacer::count_due(MonoTime now, size_t most) const {
    size_t due = 0;
    for (const Span& span : spans_) {
        for (size_t i = span.sent; i < span.packets && due < most; i++) {
            if (span.due(i) > now) {
                return due;
            }
            due++;
        }
    }
    return due;
}

bool TsPacer::next(MonoTime now, size_t most, Bytes& out) {
    if (count_due(now, most) < most) {
        return false;
    }
    for (size_t left = most; left > 0;) {
        Span& span = spans_.front();
        const size_t count = std::min(left, span.packets - span.sent);
        span.sent += count;
        left -= count;
        if (span.sent == span.packets) {
            spans_.pop_front();
        }
    }
    const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(begin_);
    const size_t size = most * kPacketSize;
    out.assign(from, from + static_cast<std::ptrdiff_t>(size));
    begin_ += size;
    if (begin_ > kMaxBytes / 4 || begin_ == bytes_.size()) {
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
        begin_ = 0;
    }
    return true;
}

std::optional<MonoTime> TsPacer::next_time() const {
    return spans_.empty() ? std::nullopt : std::optional(spans_.front().due(spans_.front().sent));
}

}  // namespace weir::net
