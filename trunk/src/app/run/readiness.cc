#include "app/run/readiness.h"

#include <algorithm>
#include <utility>

namespace weir::app {

void Readiness::sample(MonoTime now, uint64_t busy_us) {
    const MonoTime before = std::exchange(at_, now);
    const uint64_t busy_before = std::exchange(busy_us_, busy_us);
    if (!std::exchange(sampled_, true) || now <= before) {
        return;
    }
    const double elapsed_us = static_cast<double>((now - before).count());
    busy_ratio_ = std::min(static_cast<double>(busy_us - busy_before) / elapsed_us, 1.0);
    const bool against = busy_ ? busy_ratio_ < kBusyBelow : busy_ratio_ > kBusyAbove;
    against_ = against ? against_ + 1 : 0;
    if (against_ == kSamples) {
        busy_ = !busy_;
        against_ = 0;
    }
}

Readiness::State Readiness::state() const {
    if (draining_) {
        return State::kDraining;
    }
    if (!started_) {
        return State::kStarting;
    }
    return busy_ ? State::kBusy : State::kReady;
}

std::string_view to_string(Readiness::State state) {
    switch (state) {
        case Readiness::State::kStarting: return "starting";
        case Readiness::State::kReady: return "ok";
        case Readiness::State::kBusy: return "busy";
        case Readiness::State::kDraining: return "draining";
    }
    return "?";
}

}  // namespace weir::app
