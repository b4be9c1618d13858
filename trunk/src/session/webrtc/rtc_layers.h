// The simulcast layers of a stream as its WebRTC players see them (RtcLayers, one a stream), and
// which of them a player is to get (LayerChooser, one a player). Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.h"

namespace weir::session {

inline constexpr size_t kMaxLayers = 3;

class RtcLayers {
  public:
    // No frame for so long, while others have some: it has stopped.
    static constexpr int64_t kGoneMs = 1'000;

    // A layer that has come so far has pixels; the others have 0. `count` 0 or 1: no simulcast.
    void configure(size_t count) { count_ = count > 1 ? std::min(count, kMaxLayers) : 0; }

    void set_pixels(uint8_t layer, uint64_t pixels) { layers_[layer].pixels = pixels; }

    void on_frame(uint8_t layer, size_t bytes, int64_t time_ms);

    bool layered() const { return count_ > 1; }

    size_t count() const { return count_; }

    bool flows(uint8_t layer) const {
        return layer < count_ && layers_[layer].last_ms >= 0 &&
               newest_ms_ - layers_[layer].last_ms < kGoneMs;
    }

    uint64_t pixels(uint8_t layer) const { return layers_[layer].pixels; }

    int64_t bps(uint8_t layer) const { return layers_[layer].bps; }

    // Of the layers that flow and have fewer (more) pixels than `pixels`, the next; none: nothing.
    std::optional<uint8_t> below(uint64_t pixels) const;
    std::optional<uint8_t> above(uint64_t pixels) const;

  private:
    struct Layer {
        uint64_t pixels = 0;
        int64_t bps = 0;
        int64_t last_ms = -1;
        int64_t since_ms = 0;  // of the measurement
        int64_t bytes = 0;
    };

    std::array<Layer, kMaxLayers> layers_;
    size_t count_ = 0;
    int64_t newest_ms_ = 0;
};

// What a player's path is like.
struct PathView {
    int64_t estimate_bps = 0;
    bool strained = false;  // queues grow, packets are lost, or the player falls behind
};

// Chooses by the estimate, downwards soon and upwards with care. An estimate sees little further
// than what is sent, so when it is no help the next layer up is tried: a failure is seen within
// seconds, and the pause before the next try doubles.
class LayerChooser {
  public:
    static constexpr Micros kDownAfter{500'000};
    static constexpr Micros kUpAfter{1'000'000};
    static constexpr Micros kFirstTryAfter{4'000'000};
    static constexpr Micros kLongestPause{64'000'000};
    static constexpr Micros kTrial{4'000'000};
    static constexpr double kFits = 0.9;    // of the estimate, a layer to go down to
    static constexpr double kAmple = 1.25;  // times a layer's rate, an estimate to go up to it

    // `fixed`: the layer that the viewer asked for.
    explicit LayerChooser(std::optional<uint8_t> fixed) : fixed_(fixed) {}

    // The layer to send from its next key frame on; `current` is what is sent, nothing at first.
    uint8_t choose(MonoTime now,
                   const RtcLayers& layers,
                   const PathView& path,
                   std::optional<uint8_t> current);

    // While a layer is on trial: what it needs, whatever the estimate says; else 0.
    int64_t trial_bps() const { return trial_bps_; }

    // A trial has just succeeded at this rate; told once, else 0.
    int64_t take_carried() { return std::exchange(carried_bps_, 0); }

  private:
    uint8_t choose_fixed(const RtcLayers& layers) const;
    uint8_t best_fit(const RtcLayers& layers, int64_t bps) const;
    uint8_t go_down(MonoTime now, const RtcLayers& layers, const PathView& path, uint8_t from);
    uint8_t judge_trial(MonoTime now,
                        const RtcLayers& layers,
                        const PathView& path,
                        uint8_t current);

    std::optional<uint8_t> fixed_;
    std::optional<uint8_t> wanted_;
    std::optional<MonoTime> tight_since_;
    std::optional<MonoTime> ample_since_;
    std::optional<MonoTime> strained_since_;
    std::optional<MonoTime> trial_ends_;  // begins when the layer is sent
    MonoTime next_try_{};
    Micros pause_ = kFirstTryAfter;
    int64_t trial_bps_ = 0;
    int64_t carried_bps_ = 0;
    bool started_ = false;
};

}  // namespace weir::session
