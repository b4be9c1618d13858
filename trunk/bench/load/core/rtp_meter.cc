#include "bench/load/core/rtp_meter.h"

#include <algorithm>
#include <cmath>

namespace weir::load {

void RtpMeterCounts::add(const RtpMeterCounts& other) {
    packets += other.packets;
    lost += other.lost;
    duplicated += other.duplicated;
    reordered += other.reordered;
    gaps += other.gaps;
    longest_gap_ns = std::max(longest_gap_ns, other.longest_gap_ns);
}

void RtpMeter::see(uint64_t now_ns, uint16_t sequence, uint32_t timestamp) {
    counts_.packets++;
    if (!started_) {
        extended_ = (1U << 16U) + sequence;
    }
    // The number nearest to the last one that has these low bits.
    const auto step = static_cast<int16_t>(sequence - static_cast<uint16_t>(extended_));
    order_.see(extended_ + static_cast<uint32_t>(step));
    if (started_) {
        const uint64_t gap = now_ns - std::min(now_ns, last_ns_);
        counts_.gaps += gap > kGapNs ? 1 : 0;
        counts_.longest_gap_ns = std::max(counts_.longest_gap_ns, gap);
        const double ticks = static_cast<double>(gap) * clock_hz_ / 1e9;
        const double sent = static_cast<int32_t>(timestamp - last_timestamp_);
        jitter_ += (std::abs(ticks - sent) - jitter_) / 16;
    }
    if (!started_ || step > 0) {
        extended_ += static_cast<uint32_t>(step);
    }
    started_ = true;
    last_ns_ = now_ns;
    last_timestamp_ = timestamp;
}

void RtpMeter::reset() {
    *this = RtpMeter(clock_hz_);
}

RtpMeterCounts RtpMeter::counts() const {
    RtpMeterCounts out = counts_;
    out.lost = order_.lost();
    out.duplicated = order_.duplicated();
    out.reordered = order_.reordered();
    return out;
}

}  // namespace weir::load
