#include "proto/rtp/playout_audio.h"

#include <algorithm>
#include <utility>

namespace weir::rtp {

PlayoutAudio::PlayoutAudio(const PlayoutOptions& options,
                           uint32_t sample_rate,
                           uint64_t noise_seed,
                           Decode decode)
    : buffer_(options),
      clock_hz_(options.clock_hz),
      sample_rate_(sample_rate),
      concealer_(sample_rate),
      noise_(noise_seed),
      decode_(std::move(decode)) {}

bool PlayoutAudio::tick(MonoTime now, std::span<int16_t> out) {
    for (int steps = 0; ready_.size() < out.size() && steps < kMaxSteps; steps++) {
        const auto buffered =
            static_cast<uint32_t>(uint64_t{ready_.size()} * clock_hz_ / sample_rate_);
        const PlayoutStepView step = buffer_.next(now, {buffered, concealer_.silent()});
        if (step.kind == PlayoutKind::kNothing) {
            break;
        }
        play(step);
    }
    if (ready_.size() < out.size()) {
        std::fill(out.begin(), out.end(), int16_t{0});
        return false;
    }
    const auto end = ready_.begin() + static_cast<std::ptrdiff_t>(out.size());
    std::copy(ready_.begin(), end, out.begin());
    ready_.erase(ready_.begin(), end);
    return true;
}

void PlayoutAudio::play(const PlayoutStepView& step) {
    frame_.clear();
    if (step.kind == PlayoutKind::kFrame) {
        decode_(step.payload, step.restart, frame_);
        frame_.resize(std::min(frame_.size(), kMaxSamples));
    }
    if (frame_.empty()) {
        conceal(step);
    } else {
        noise_.set_level(media::kMaxNoiseLevel);
        change_length(step.adjust);
        concealer_.add(frame_, step.broken || step.restart);
    }
    ready_.insert(ready_.end(), frame_.begin(), frame_.end());
}

void PlayoutAudio::conceal(const PlayoutStepView& step) {
    frame_.resize(static_cast<size_t>(uint64_t{step.ticks} * sample_rate_ / clock_hz_));
    concealer_.conceal(frame_);
    if (step.kind == PlayoutKind::kSilence) {
        if (const auto level = media::parse_noise_level(step.payload)) {
            noise_.set_level(*level);
        }
        noise_.add(frame_);
    }
}

void PlayoutAudio::change_length(PlayoutAdjust adjust) {
    if (adjust == PlayoutAdjust::kShorten) {
        frame_.resize(concealer_.shorten(frame_));
    } else if (adjust == PlayoutAdjust::kStretch) {
        changed_.resize(frame_.size() + concealer_.max_period());
        changed_.resize(concealer_.stretch(frame_, changed_));
        frame_.swap(changed_);
    }
}

}  // namespace weir::rtp
