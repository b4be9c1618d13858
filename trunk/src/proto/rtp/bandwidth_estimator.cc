#include "proto/rtp/bandwidth_estimator.h"

#include <algorithm>

namespace weir::rtp {
namespace {

constexpr double kSilenceCut = 0.8;

}  // namespace

BandwidthEstimator::BandwidthEstimator(const RateLimits& limits)
    : limits_(limits), delay_(limits), loss_(limits) {}

void BandwidthEstimator::on_feedback(MonoTime now,
                                     TwccHistory& history,
                                     const rtcp::TransportFeedbackView& feedback) {
    size_t received = 0;
    size_t lost = 0;
    PathLoad load = PathLoad::kNormal;
    history.on_feedback(feedback, [&](const PacketResult& result) {
        if (!result.received) {
            lost++;
            return;
        }
        received++;
        arriving_.add(result.arrival, result.size);
        trend_.on_packet(Micros(result.sent.time_since_epoch()), result.arrival);
        if (trend_.load() == PathLoad::kOver) {
            load = PathLoad::kOver;  // in between counts as well
        }
    });
    if (received + lost == 0) {
        return;
    }
    heard_ = now;
    has_delays_ = true;
    silence_factor_ = 1;
    if (load != PathLoad::kOver) {
        load = trend_.load();
    }
    delay_.update(now, load, arriving_.bps(), rtt_);
    loss_.add(received, lost);
    loss_.update(now, delay_.bps());
}

void BandwidthEstimator::on_loss_report(MonoTime now, size_t received, size_t lost) {
    heard_ = now;
    silence_factor_ = 1;
    loss_.add(received, lost);
    loss_.update(now, has_delays_ ? delay_.bps() : limits_.max_bps);
}

void BandwidthEstimator::handle_timeout(MonoTime now, bool outstanding) {
    if (!heard_ || now - *heard_ < kMaxSilence) {
        return;
    }
    heard_ = now;
    if (outstanding) {
        silence_factor_ *= kSilenceCut;
    }
}

std::optional<MonoTime> BandwidthEstimator::next_timeout() const {
    return heard_ ? std::optional(*heard_ + kMaxSilence) : std::nullopt;
}

int64_t BandwidthEstimator::bps() const {
    int64_t bps = loss_.bps();
    if (has_delays_) {
        bps = std::min(bps, delay_.bps());
    }
    if (remote_bps_) {
        bps = std::min(bps, *remote_bps_);
    }
    bps = static_cast<int64_t>(static_cast<double>(bps) * silence_factor_);
    return std::clamp(bps, limits_.min_bps, limits_.max_bps);
}

}  // namespace weir::rtp
