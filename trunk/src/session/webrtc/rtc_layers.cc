#include "session/webrtc/rtc_layers.h"

#include <algorithm>

namespace weir::session {
namespace {

constexpr int64_t kMeasureMs = 1'000;

// When the condition began to hold.
bool holds_for(std::optional<MonoTime>& since, bool condition, MonoTime now, Micros least) {
    if (!condition) {
        since.reset();
        return false;
    }
    since = since.value_or(now);
    return now - *since >= least;
}

}  // namespace

void RtcLayers::on_frame(uint8_t layer, size_t bytes, int64_t time_ms) {
    Layer& one = layers_[layer];
    if (one.last_ms < 0 || time_ms - one.last_ms >= kGoneMs || time_ms < one.since_ms) {
        one.since_ms = time_ms;
        one.bytes = 0;
    } else if (const int64_t span = time_ms - one.since_ms; span >= kMeasureMs) {
        const int64_t bps = one.bytes * 8'000 / span;
        one.bps = one.bps == 0 ? bps : (one.bps + bps) / 2;
        one.since_ms = time_ms;
        one.bytes = 0;
    }
    one.last_ms = time_ms;
    one.bytes += static_cast<int64_t>(bytes);
    newest_ms_ = std::max(newest_ms_, time_ms);
}

std::optional<uint8_t> RtcLayers::below(uint64_t pixels) const {
    std::optional<uint8_t> found;
    for (uint8_t i = 0; i < count_; i++) {
        if (flows(i) && layers_[i].pixels < pixels &&
            (!found || layers_[i].pixels > layers_[*found].pixels)) {
            found = i;
        }
    }
    return found;
}

std::optional<uint8_t> RtcLayers::above(uint64_t pixels) const {
    std::optional<uint8_t> found;
    for (uint8_t i = 0; i < count_; i++) {
        if (flows(i) && layers_[i].pixels > pixels &&
            (!found || layers_[i].pixels < layers_[*found].pixels)) {
            found = i;
        }
    }
    return found;
}

uint8_t LayerChooser::choose_fixed(const RtcLayers& layers) const {
    if (layers.flows(*fixed_)) {
        return *fixed_;
    }
    const uint64_t pixels = layers.pixels(*fixed_);
    const std::optional<uint8_t> other =
        layers.below(pixels) ? layers.below(pixels) : layers.above(pixels);
    return other.value_or(*fixed_);
}

// The highest that flows at not more than that, or the lowest.
uint8_t LayerChooser::best_fit(const RtcLayers& layers, int64_t bps) const {
    std::optional<uint8_t> at = layers.below(UINT64_MAX);
    while (at && layers.bps(*at) > bps && layers.below(layers.pixels(*at))) {
        at = layers.below(layers.pixels(*at));
    }
    return at.value_or(0);
}

uint8_t LayerChooser::go_down(MonoTime now,
                              const RtcLayers& layers,
                              const PathView& path,
                              uint8_t from) {
    tight_since_.reset();
    ample_since_.reset();
    next_try_ = now + pause_;
    const uint8_t fit =
        best_fit(layers, static_cast<int64_t>(kFits * static_cast<double>(path.estimate_bps)));
    return layers.pixels(fit) < layers.pixels(from)
               ? fit
               : layers.below(layers.pixels(from)).value_or(from);
}

uint8_t LayerChooser::judge_trial(MonoTime now,
                                  const RtcLayers& layers,
                                  const PathView& path,
                                  uint8_t current) {
    if (holds_for(strained_since_, path.strained, now, kDownAfter)) {
        pause_ = std::min(pause_ * 2, kLongestPause);
        trial_bps_ = 0;
        trial_ends_.reset();
        return go_down(now, layers, path, current);
    }
    if (now >= *trial_ends_) {
        carried_bps_ = std::max(layers.bps(current), trial_bps_);
        pause_ = kFirstTryAfter;
        next_try_ = now + pause_;
        trial_bps_ = 0;
        trial_ends_.reset();
    }
    return current;
}

uint8_t LayerChooser::choose(MonoTime now,
                             const RtcLayers& layers,
                             const PathView& path,
                             std::optional<uint8_t> current) {
    if (fixed_ && *fixed_ < layers.count()) {
        return choose_fixed(layers);
    }
    if (!started_) {
        started_ = true;
        next_try_ = now + pause_;
    }
    if (!current || !layers.flows(*current)) {
        trial_bps_ = 0;
        trial_ends_.reset();
        wanted_ = best_fit(layers, path.estimate_bps);
        return *wanted_;
    }
    if (wanted_ && *wanted_ != *current && layers.flows(*wanted_)) {
        return *wanted_;  // its key frame is on the way
    }
    if (trial_bps_ > 0) {
        trial_ends_ = trial_ends_.value_or(now + kTrial);
        wanted_ = judge_trial(now, layers, path, *current);
        return *wanted_;
    }
    wanted_ = current;
    const std::optional<uint8_t> lower = layers.below(layers.pixels(*current));
    const bool tight = path.estimate_bps < layers.bps(*current) || path.strained;
    if (lower && holds_for(tight_since_, tight, now, kDownAfter)) {
        wanted_ = go_down(now, layers, path, *current);
        return *wanted_;
    }
    const std::optional<uint8_t> upper = layers.above(layers.pixels(*current));
    if (!upper || tight) {
        ample_since_.reset();
        return *wanted_;
    }
    const auto enough = static_cast<int64_t>(kAmple * static_cast<double>(layers.bps(*upper)));
    if (holds_for(ample_since_, path.estimate_bps >= enough, now, kUpAfter)) {
        ample_since_.reset();
        wanted_ = upper;
    } else if (now >= next_try_) {
        strained_since_.reset();
        trial_bps_ = std::max<int64_t>(enough, 1);
        wanted_ = upper;
    }
    return *wanted_;
}

}  // namespace weir::session
