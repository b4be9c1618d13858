#include "proto/rtp/sender_stats.h"

#include <algorithm>

namespace weir::rtp {
namespace {

constexpr uint32_t kMaxRtt = 60U << 16U;      // 16.16 fixed point seconds
constexpr uint32_t kMaxInterval = 1'000'000;  // packets between two blocks; more is a new start

}  // namespace

ReceiverNews SenderStats::on_report_block(const rtcp::ReportBlock& block, rtcp::NtpTime now) {
    ReceiverNews news;
    jitter_ = block.jitter;
    if (block.last_sr != 0 && reported_) {
        // RFC 3550 §6.4.1, figure 2: modulo 2^16 s, so that a negative one is very large.
        const uint32_t rtt = rtcp::compact_ntp(now) - block.last_sr - block.delay_since_sr;
        if (rtt <= kMaxRtt) {
            news.rtt = Micros(rtcp::compact_ntp_to_us(rtt));
        }
    }
    const uint32_t expected = block.highest_sequence - highest_;
    if (heard_ && expected <= kMaxInterval) {
        const int64_t lost = int64_t{block.cumulative_lost} - lost_;
        news.lost = static_cast<size_t>(std::clamp<int64_t>(lost, 0, expected));
        news.received = expected - news.lost;
    }
    heard_ = true;
    highest_ = block.highest_sequence;
    lost_ = block.cumulative_lost;
    return news;
}

}  // namespace weir::rtp
