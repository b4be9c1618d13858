#include "proto/rtp/rate_control.h"

#include <algorithm>
#include <cmath>

namespace weir::rtp {
namespace {

constexpr Micros kMinMeasured = Millis(250);
constexpr Micros kMaxPause = Seconds(2);

// §5.5
constexpr double kDecrease = 0.85;           // beta
constexpr double kIncreasePerSecond = 1.08;  // eta
constexpr double kOutgrow = 1.5;             // of what arrives, A_hat < 1.5 R_hat
constexpr int64_t kOutgrowBps = 10'000;      // so that a silent sender can begin
constexpr double kPacketBits = 1200 * 8;
constexpr Micros kResponseSlack = Millis(100);
constexpr int64_t kMinStepBps = 1'000;
constexpr double kLimitShare = 0.05;  // of a new value in the mean
constexpr double kMinVariance = 0.4;
constexpr double kMaxVariance = 2.5;
constexpr Micros kMinDecreaseGap = Millis(10);
constexpr Micros kMaxDecreaseGap = Millis(200);

// §6
constexpr double kHighLoss = 0.10;
constexpr double kLowLoss = 0.02;
constexpr double kLossIncrease = 1.05;
constexpr Micros kLossInterval = Millis(500);
constexpr size_t kMinLossPackets = 40;

constexpr double kReducedEnough = 0.75;  // to tell from what arrives why packets were lost
constexpr double kOwnLossShare = 0.15;   // of a lower loss in own_loss_
constexpr double kMaxOwnLoss = 0.4;
constexpr double kOutgrowOther = 1.5;

int64_t scale(int64_t bps, double factor) {
    return static_cast<int64_t>(static_cast<double>(bps) * factor);
}

}  // namespace

void RateMeter::add(Micros at, size_t bytes) {
    const int64_t slot = at / kSlot;
    if (!started_ || at - latest_ > kMaxPause || latest_ - at > kMaxPause) {
        started_ = true;
        since_ = at;
        latest_ = at;
        slot_ = slot;
        bytes_.fill(0);
    }
    for (; slot_ < slot; slot_++) {
        bytes_[static_cast<size_t>(slot_ + 1) % kSlots] = 0;
    }
    latest_ = std::max(latest_, at);
    bytes_[static_cast<size_t>(slot_) % kSlots] += static_cast<uint32_t>(bytes);
}

std::optional<int64_t> RateMeter::bps() const {
    if (!started_ || latest_ - since_ < kMinMeasured) {
        return std::nullopt;
    }
    int64_t bytes = 0;
    for (const uint32_t slot : bytes_) {
        bytes += slot;
    }
    const Micros begin = std::max(since_, (slot_ - static_cast<int64_t>(kSlots) + 1) * kSlot);
    const int64_t span_us = std::max((latest_ - begin).count(), kMinMeasured.count());
    return bytes * 8'000'000 / span_us;
}

void DelayRate::update(MonoTime now,
                       PathLoad load,
                       std::optional<int64_t> arriving_bps,
                       Micros rtt) {
    const Micros elapsed = updated_ ? std::min<Micros>(now - *updated_, Seconds(1)) : Micros(0);
    updated_ = now;
    switch (load) {
        case PathLoad::kOver:
            hold_ = true;
            decrease(now, arriving_bps.value_or(bps_), rtt);
            break;
        case PathLoad::kUnder: hold_ = true; break;
        case PathLoad::kNormal:
            if (!hold_) {
                increase(elapsed, arriving_bps, rtt);
            }
            hold_ = false;
            break;
    }
    bps_ = std::clamp(bps_, limits_.min_bps, limits_.max_bps);
}

void DelayRate::decrease(MonoTime now, int64_t arriving_bps, Micros rtt) {
    // Once a round trip: before that nothing can be seen of the last one.
    const Micros gap = std::clamp(rtt, kMinDecreaseGap, kMaxDecreaseGap);
    if (decreased_ && now - *decreased_ < gap && arriving_bps > bps_ / 2) {
        return;
    }
    decreased_ = now;
    note_limit(arriving_bps);
    bps_ = std::min(bps_, scale(arriving_bps, kDecrease));
}

void DelayRate::increase(Micros elapsed, std::optional<int64_t> arriving_bps, Micros rtt) {
    const double seconds = static_cast<double>(elapsed.count()) / 1e6;
    int64_t wanted = scale(bps_, std::pow(kIncreasePerSecond, seconds));
    if (arriving_bps && near_limit(*arriving_bps)) {
        // About a packet more per response time (§5.5, additive).
        const double response = static_cast<double>((rtt + kResponseSlack).count()) / 1e6;
        const double share = 0.5 * std::min(seconds / response, 1.0);
        wanted = bps_ + std::max(static_cast<int64_t>(share * kPacketBits),
                                 static_cast<int64_t>(kMinStepBps * seconds));
    } else if (elapsed > Micros(0)) {
        wanted = std::max(wanted, bps_ + static_cast<int64_t>(kMinStepBps * seconds));
    }
    if (arriving_bps) {
        // What the path was never asked to carry is not known to pass.
        wanted = std::min(wanted, scale(*arriving_bps, kOutgrow) + kOutgrowBps);
    }
    bps_ = std::max(bps_, wanted);
}

bool DelayRate::near_limit(int64_t arriving_bps) const {
    if (limit_kbps_ <= 0) {
        return false;
    }
    const double kbps = static_cast<double>(arriving_bps) / 1000;
    const double deviation = std::sqrt(limit_variance_ * limit_kbps_);
    return kbps < limit_kbps_ + 3 * deviation && kbps > limit_kbps_ - 3 * deviation;
}

void DelayRate::note_limit(int64_t arriving_bps) {
    const double kbps = static_cast<double>(arriving_bps) / 1000;
    if (limit_kbps_ <= 0 || !near_limit(arriving_bps)) {
        limit_kbps_ = std::max(kbps, 1.0);
        limit_variance_ = kMinVariance;
        return;
    }
    limit_kbps_ += kLimitShare * (kbps - limit_kbps_);
    const double error = kbps - limit_kbps_;
    limit_variance_ =
        std::clamp((1 - kLimitShare) * limit_variance_ + kLimitShare * error * error / limit_kbps_,
                   kMinVariance, kMaxVariance);
}

void LossRate::update(MonoTime now, int64_t other_bps) {
    if (!updated_) {
        updated_ = now;  // nobody knows how long these took
        received_ = lost_ = 0;
        return;
    }
    const Micros elapsed = now - *updated_;
    if (elapsed < kLossInterval || received_ + lost_ < kMinLossPackets) {
        return;
    }
    updated_ = now;
    const auto sent = static_cast<double>(received_ + lost_);
    const double seconds = static_cast<double>(elapsed.count()) / 1e6;
    const Flow flow{sent / seconds, static_cast<double>(received_) / seconds};
    loss_ = static_cast<double>(lost_) / sent;
    received_ = lost_ = 0;
    if (loss_ < own_loss_) {
        own_loss_ += kOwnLossShare * (loss_ - own_loss_);
    }
    const double excess = std::max(loss_ - own_loss_, 0.0);
    if (excess > kHighLoss) {
        reduce(excess, flow);
    } else if (excess < kLowLoss) {
        reducing_ = false;
        bps_ = scale(bps_, kLossIncrease) + kMinStepBps;
    }
    bps_ = std::min(bps_, std::max(scale(other_bps, kOutgrowOther), limits_.min_bps));
    bps_ = std::clamp(bps_, limits_.min_bps, limits_.max_bps);
}

void LossRate::reduce(double excess, const Flow& flow) {
    if (reducing_ && flow.sent < kReducedEnough * flow_before_.sent) {
        // What would arrive if the path lost by chance, and what if it had a bottleneck.
        const double by_chance = flow_before_.arrived * flow.sent / flow_before_.sent;
        const double by_bottleneck = std::min(flow_before_.arrived, flow.sent);
        if (flow.arrived < (by_chance + by_bottleneck) / 2) {
            own_loss_ = std::min(loss_, kMaxOwnLoss);
            bps_ = bps_before_;
            reducing_ = false;
            return;
        }
        reducing_ = false;  // reducing helps: another row
    }
    if (!reducing_) {
        reducing_ = true;
        bps_before_ = bps_;
        flow_before_ = flow;
    }
    bps_ = scale(bps_, 1 - 0.5 * excess);
}

}  // namespace weir::rtp
