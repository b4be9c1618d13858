#include "proto/rtp/reception_stats.h"

#include <algorithm>

namespace weir::rtp {
namespace {

// A longer gap between two packets' transit times is a jump of a clock, not jitter.
constexpr uint32_t kMaxTransitStepSeconds = 5;

}  // namespace

void ReceptionStats::on_packet(int64_t sequence, uint32_t rtp_time, MonoTime now) {
    const bool newest = !started_ || sequence > highest_;
    if (!started_) {
        started_ = true;
        first_ = sequence;
        highest_ = sequence;
    }
    received_++;
    first_ = std::min(first_, sequence);
    highest_ = std::max(highest_, sequence);
    // RFC 3550 A.8, in the clock of the source. Packets of one frame share a timestamp while a
    // sender paces them out: that is no jitter of the path, so only the first one of each counts,
    // and none that came late or was sent again.
    if (!newest || (has_transit_ && rtp_time == last_time_)) {
        return;
    }
    const int64_t us = now.time_since_epoch().count();
    const auto seconds = static_cast<uint64_t>(us / 1'000'000);
    const auto rest = static_cast<uint64_t>(us % 1'000'000);
    const auto arrival = static_cast<uint32_t>(seconds * clock_hz_ + rest * clock_hz_ / 1'000'000);
    const uint32_t transit = arrival - rtp_time;
    if (has_transit_) {
        const auto step = static_cast<int32_t>(transit - transit_);
        const uint32_t distance =
            step < 0 ? 0U - static_cast<uint32_t>(step) : static_cast<uint32_t>(step);
        if (distance < clock_hz_ * kMaxTransitStepSeconds) {
            jitter_q4_ += distance - ((jitter_q4_ + 8) >> 4U);
        }
    }
    has_transit_ = true;
    transit_ = transit;
    last_time_ = rtp_time;
}

void ReceptionStats::on_sender_report(rtcp::NtpTime ntp_time, MonoTime now) {
    last_sr_ = rtcp::compact_ntp(ntp_time);
    last_sr_at_ = now;
}

void ReceptionStats::restart() {
    before_restart_ += expected();
    started_ = false;
    has_transit_ = false;
}

rtcp::ReportBlock ReceptionStats::report(uint32_t ssrc, MonoTime now) {
    rtcp::ReportBlock block;
    block.ssrc = ssrc;
    const int64_t expected_now = before_restart_ + expected();
    const auto received_now = static_cast<int64_t>(received_);
    const int64_t expected_interval = expected_now - expected_before_;
    const int64_t lost_interval = expected_interval - (received_now - received_before_);
    expected_before_ = expected_now;
    received_before_ = received_now;
    if (expected_interval > 0 && lost_interval > 0) {
        block.fraction_lost =
            static_cast<uint8_t>(std::min<int64_t>(lost_interval * 256 / expected_interval, 255));
    }
    block.cumulative_lost =
        static_cast<int32_t>(std::clamp<int64_t>(expected_now - received_now, -0x800000, 0x7FFFFF));
    block.highest_sequence = static_cast<uint32_t>(highest_);
    block.jitter = jitter_q4_ >> 4U;
    block.last_sr = last_sr_;
    if (last_sr_ != 0) {
        block.delay_since_sr = rtcp::compact_ntp_duration((now - last_sr_at_).count());
    }
    return block;
}

Micros ReceptionStats::jitter() const {
    return Micros(static_cast<int64_t>((uint64_t{jitter_q4_} * 1'000'000U / clock_hz_) >> 4U));
}

uint64_t ReceptionStats::lost() const {
    const int64_t lost = before_restart_ + expected() - static_cast<int64_t>(received_);
    return lost > 0 ? static_cast<uint64_t>(lost) : 0;
}

}  // namespace weir::rtp
