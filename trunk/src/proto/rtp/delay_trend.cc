#include "proto/rtp/delay_trend.h"

#include <algorithm>
#include <cmath>

namespace weir::rtp {
namespace {

constexpr Micros kBurst = Millis(5);        // §5.2
constexpr Micros kMaxSilence = Seconds(3);  // of arrivals; then the line begins anew
constexpr double kSmoothing = 0.9;          // of the delay against one packet's noise
constexpr double kGain = 4;                 // brings the slope into the range of the threshold
constexpr size_t kMaxGroupsOfGain = 60;     // which grows until so many groups were seen
constexpr double kOverMs = 10;              // §5.4: overuse_time_th
constexpr double kUpRate = 0.01;            // §5.4: K_u
constexpr double kDownRate = 0.0045;        // K_d; with the draft's 0.00018 it takes minutes
constexpr double kMinThresholdMs = 6;       // §5.4: del_var_th stays within 6 and 600 ms
constexpr double kMaxThresholdMs = 600;
constexpr double kOutlierMs = 15;  // §5.4: further off is no reason to adapt
constexpr double kMaxAdaptMs = 100;

double to_ms(Micros time) {
    return static_cast<double>(time.count()) / 1000;
}

}  // namespace

void DelayTrend::reset() {
    current_.reset();
    previous_.reset();
    count_ = 0;
    first_arrival_.reset();
    sum_ms_ = smoothed_ms_ = slope_ = last_trend_ms_ = 0;
    over_for_ms_ = 0;
    over_groups_ = 0;
    load_ = PathLoad::kNormal;
}

void DelayTrend::on_packet(Micros sent, Micros arrival) {
    if (!current_) {
        current_ = Group{sent, sent, arrival};
        return;
    }
    const Micros silence = arrival - current_->last_arrival;
    if (silence > kMaxSilence || silence < -kMaxSilence ||
        sent < current_->first_sent - kMaxSilence) {
        reset();  // nothing was sent, or a clock was set
        current_ = Group{sent, sent, arrival};
        return;
    }
    if (sent < current_->first_sent) {
        return;  // of a group that is closed
    }
    // Packets that a sender let go one after the other and that arrive together were held up
    // together: they are one group as well (§5.2).
    const bool burst = arrival - current_->last_arrival < kBurst &&
                       arrival - current_->last_arrival < sent - current_->last_sent &&
                       sent - current_->first_sent < 20 * kBurst;
    if (sent - current_->first_sent <= kBurst || burst) {
        current_->last_sent = std::max(current_->last_sent, sent);
        current_->last_arrival = std::max(current_->last_arrival, arrival);
        return;
    }
    on_group(*current_);
    current_ = Group{sent, sent, arrival};
}

void DelayTrend::on_group(const Group& group) {
    if (!first_arrival_) {
        first_arrival_ = group.last_arrival;
    }
    if (previous_) {
        const double send_ms = to_ms(group.last_sent - previous_->last_sent);
        const double arrival_ms = to_ms(group.last_arrival - previous_->last_arrival);
        sum_ms_ += arrival_ms - send_ms;
        smoothed_ms_ = kSmoothing * smoothed_ms_ + (1 - kSmoothing) * sum_ms_;
        points_[count_ % kWindow] = {
            static_cast<float>(to_ms(group.last_arrival - *first_arrival_)),
            static_cast<float>(smoothed_ms_)};
        count_++;
        fit();
        detect(arrival_ms, send_ms);
    }
    previous_ = group;
    // Floats are exact enough for some hours; begin the line's time anew long before.
    if (group.last_arrival - *first_arrival_ > Seconds(600)) {
        const auto shift = static_cast<float>(to_ms(group.last_arrival - *first_arrival_));
        for (Point& point : points_) {
            point.arrival_ms -= shift;
        }
        first_arrival_ = group.last_arrival;
    }
}

// The slope of the line through the points with the least squares.
void DelayTrend::fit() {
    if (count_ < kWindow) {
        return;
    }
    double mean_x = 0;
    double mean_y = 0;
    for (const Point& point : points_) {
        mean_x += double{point.arrival_ms} / kWindow;
        mean_y += double{point.delay_ms} / kWindow;
    }
    double numerator = 0;
    double denominator = 0;
    for (const Point& point : points_) {
        const double x = double{point.arrival_ms} - mean_x;
        numerator += x * (double{point.delay_ms} - mean_y);
        denominator += x * x;
    }
    if (denominator > 0) {
        slope_ = numerator / denominator;
    }
}

void DelayTrend::detect(double elapsed_ms, double send_ms) {
    const double trend_ms =
        slope_ * kGain * static_cast<double>(std::min(count_, kMaxGroupsOfGain));
    if (trend_ms > threshold_ms_) {
        // §5.4: over for 10 ms at least and not getting better.
        over_for_ms_ += over_groups_ == 0 ? send_ms / 2 : send_ms;
        over_groups_++;
        if (over_for_ms_ > kOverMs && over_groups_ > 1 && trend_ms >= last_trend_ms_) {
            over_for_ms_ = 0;
            over_groups_ = 0;
            load_ = PathLoad::kOver;
        }
    } else {
        over_for_ms_ = 0;
        over_groups_ = 0;
        load_ = trend_ms < -threshold_ms_ ? PathLoad::kUnder : PathLoad::kNormal;
    }
    last_trend_ms_ = trend_ms;
    adapt(trend_ms, elapsed_ms);
}

void DelayTrend::adapt(double trend_ms, double elapsed_ms) {
    const double distance = std::abs(trend_ms) - threshold_ms_;
    if (distance > kOutlierMs) {
        return;
    }
    const double rate = distance < 0 ? kDownRate : kUpRate;
    threshold_ms_ += rate * distance * std::clamp(elapsed_ms, 0.0, kMaxAdaptMs);
    threshold_ms_ = std::clamp(threshold_ms_, kMinThresholdMs, kMaxThresholdMs);
}

}  // namespace weir::rtp
