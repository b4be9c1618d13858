#include "media/concealer.h"

#include <algorithm>
#include <cmath>

#include "media/tone.h"

namespace weir::media {
namespace {

constexpr double kSilentRms = 66;  // -54 dBov
constexpr uint32_t kFullMs = 10;   // of concealment before it fades
constexpr uint32_t kOverlapMs = 5;

size_t samples(uint32_t rate, uint32_t tenths_of_ms) {
    return size_t{rate} * tenths_of_ms / 10'000;
}

// From `a` to `b` as `at` goes from 0 to `size`.
int16_t blend(int32_t a, int32_t b, size_t at, size_t size) {
    const auto to = static_cast<int64_t>(at);
    const auto all = static_cast<int64_t>(size);
    return static_cast<int16_t>((a * (all - to) + b * to) / all);
}

}  // namespace

Concealer::Concealer(uint32_t sample_rate)
    : rate_(std::clamp(sample_rate, kMinRate, kMaxRate)),
      min_lag_(samples(rate_, 25)),
      max_lag_(samples(rate_, 150)),
      window_(samples(rate_, 200)),
      fade_(samples(rate_, kFadeMs * 10)),
      overlap_(samples(rate_, kOverlapMs * 10)) {
    reset();
}

void Concealer::reset() {
    history_.assign(window_ + max_lag_ + 1, 0);
    period_.clear();
    concealed_ = 0;
    silent_ = true;
}

void Concealer::add(std::span<int16_t> frame, bool broken) {
    if (frame.empty()) {
        return;
    }
    if (broken && period_.empty()) {
        begin();
    }
    if (!period_.empty()) {
        const size_t size = std::min(overlap_, frame.size());
        for (size_t i = 0; i < size; i++) {
            frame[i] = blend(next(), frame[i], i + 1, size + 1);
        }
        period_.clear();
        concealed_ = 0;
    }
    remember(frame);
    silent_ = rms(frame) < kSilentRms;
}

void Concealer::conceal(std::span<int16_t> out) {
    if (period_.empty()) {
        begin();
    }
    std::generate(out.begin(), out.end(), [this] { return next(); });
    remember(out);
}

void Concealer::remember(std::span<const int16_t> frame) {
    if (frame.size() >= history_.size()) {
        std::copy(frame.end() - static_cast<std::ptrdiff_t>(history_.size()), frame.end(),
                  history_.begin());
        return;
    }
    const auto size = static_cast<std::ptrdiff_t>(frame.size());
    std::copy(history_.begin() + size, history_.end(), history_.begin());
    std::copy(frame.begin(), frame.end(), history_.end() - size);
}

// Takes the last period out of what was played. Its end is blended into what came before its
// beginning, so that it may be repeated without a click.
void Concealer::begin() {
    const int16_t* const end = history_.data() + history_.size();
    const size_t lag =
        find_lag({{end - window_, window_}, end - window_, -1, min_lag_ * 2, max_lag_});
    period_.assign(end - lag, end);
    const size_t size = lag / 4;
    for (size_t i = 0; i < size; i++) {
        int16_t& sample = period_[lag - size + i];
        sample = blend(sample, *(end - lag - size + i), i + 1, size);
    }
    at_ = 0;
    concealed_ = 0;
    step_ = *(end - 1) - *(end - lag - 1);
}

int16_t Concealer::next() {
    if (concealed_ >= fade_) {
        return 0;
    }
    int32_t value = period_[at_];
    at_ = at_ + 1 == period_.size() ? 0 : at_ + 1;
    if (concealed_ < overlap_) {
        // The first repetition begins where the last sample was.
        value += step_ * static_cast<int32_t>(overlap_ - concealed_) /
                 static_cast<int32_t>(overlap_ + 1);
        value = std::clamp(value, -32768, 32767);
    }
    const size_t full = samples(rate_, kFullMs * 10);
    if (concealed_ > full) {
        value = blend(value, 0, concealed_ - full, fade_ - full);
    }
    concealed_++;
    return static_cast<int16_t>(value);
}

// Normalized correlation of the window with the one `lag` away; each `stride`th sample.
double Concealer::likeness(const Search& search, size_t lag, size_t stride) {
    const int16_t* const other = search.origin + search.sign * static_cast<std::ptrdiff_t>(lag);
    int64_t product = 0;
    int64_t power = 0;
    for (size_t i = 0; i < search.window.size(); i += stride) {
        product += int64_t{search.window[i]} * other[i];
        power += int64_t{other[i]} * other[i];
    }
    return power == 0 ? 0 : static_cast<double>(product) / std::sqrt(static_cast<double>(power));
}

// The most alike, first among each few lags, then among those next to it.
size_t Concealer::find_lag(const Search& search) const {
    const size_t stride = std::max<size_t>(1, rate_ / 4'000);
    size_t best = search.min_lag;
    double best_likeness = -1e300;
    const auto look = [&](size_t lag, size_t each) {
        const double found = likeness(search, lag, each);
        if (found > best_likeness) {
            best_likeness = found;
            best = lag;
        }
    };
    for (size_t lag = search.min_lag; lag <= search.max_lag; lag += stride) {
        look(lag, stride);
    }
    const size_t coarse = best;
    best_likeness = -1e300;
    for (size_t lag = std::max(search.min_lag, coarse - std::min(coarse, stride));
         lag <= std::min(search.max_lag, coarse + stride); lag++) {
        look(lag, 1);
    }
    return best;
}

// The period within a frame; 0 when it is too short for one.
size_t Concealer::frame_lag(std::span<const int16_t> frame) const {
    const size_t most = std::min(max_lag_, frame.size() / 2);
    if (most < min_lag_) {
        return 0;
    }
    return find_lag({frame.first(frame.size() - most), frame.data(), 1, min_lag_, most});
}

size_t Concealer::shorten(std::span<int16_t> frame) const {
    const size_t lag = frame_lag(frame);
    for (size_t i = 0; i < lag; i++) {
        frame[i] = blend(frame[i], frame[lag + i], i + 1, lag + 1);
    }
    if (lag > 0) {
        std::copy(frame.begin() + static_cast<std::ptrdiff_t>(2 * lag), frame.end(),
                  frame.begin() + static_cast<std::ptrdiff_t>(lag));
    }
    return frame.size() - lag;
}

size_t Concealer::stretch(std::span<const int16_t> frame, std::span<int16_t> out) const {
    const size_t lag = frame_lag(frame);
    std::copy_n(frame.begin(), lag, out.begin());
    for (size_t i = 0; i < lag; i++) {
        out[lag + i] = blend(frame[lag + i], frame[i], i + 1, lag + 1);
    }
    std::copy(frame.begin() + static_cast<std::ptrdiff_t>(lag), frame.end(),
              out.begin() + static_cast<std::ptrdiff_t>(2 * lag));
    return frame.size() + lag;
}

}  // namespace weir::media
