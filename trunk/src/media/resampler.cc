#include "media/resampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

namespace weir::media {
namespace {

constexpr uint32_t kUnit = 8'000;
constexpr uint32_t kMaxRate = 48'000;
constexpr size_t kHalfTaps = 12;     // at the lower rate
constexpr double kPassShare = 0.90;  // of the lower rate's band
constexpr size_t kLanes = 8;
constexpr double kOne = 16384;
constexpr size_t kMaxBlock = 960;  // samples that are held at once

// A sinc under a Blackman window; `at` in samples of the lower rate, within ±kHalfTaps.
double impulse(double at) {
    const double x = std::numbers::pi * at * kPassShare;
    const double sinc = std::abs(x) < 1e-9 ? 1 : std::sin(x) / x;
    const double angle = std::numbers::pi * at / static_cast<double>(kHalfTaps);
    return sinc * (0.42 + 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle));
}

// The sum of products, in lanes that the compiler puts into one register each.
int32_t weigh(const int16_t* taps, const int16_t* samples, size_t size) {
    std::array<int32_t, kLanes> sums{};
    for (size_t i = 0; i < size; i += kLanes) {
        for (size_t lane = 0; lane < kLanes; lane++) {
            sums[lane] += int32_t{taps[i + lane]} * samples[i + lane];
        }
    }
    return std::accumulate(sums.begin(), sums.end(), int32_t{0});
}

}  // namespace

bool Resampler::supports(uint32_t from_rate, uint32_t to_rate) {
    return std::ranges::all_of(
        std::initializer_list<uint32_t>{from_rate, to_rate},
        [](uint32_t rate) { return rate != 0 && rate % kUnit == 0 && rate <= kMaxRate; });
}

Resampler::Resampler(uint32_t from_rate, uint32_t to_rate)
    : up_(to_rate / std::gcd(from_rate, to_rate)), down_(from_rate / std::gcd(from_rate, to_rate)) {
    if (up_ == down_) {
        taps_ = 1;
        return;
    }
    // Length in samples of the input, which is the higher rate when it goes down.
    const double stretch = std::max(1.0, static_cast<double>(down_) / static_cast<double>(up_));
    taps_ = static_cast<size_t>(std::ceil(2 * kHalfTaps * stretch / kLanes)) * kLanes;
    filter_.resize(up_ * taps_);
    for (size_t phase = 0; phase < up_; phase++) {
        std::vector<double> taps(taps_);
        double sum = 0;
        for (size_t i = 0; i < taps_; i++) {
            const double at = static_cast<double>(i) + 1 - static_cast<double>(taps_) / 2 -
                              static_cast<double>(phase) / static_cast<double>(up_);
            taps[i] = std::abs(at / stretch) < kHalfTaps ? impulse(at / stretch) : 0;
            sum += taps[i];
        }
        // The same gain in each phase, or a constant would hum.
        for (size_t i = 0; i < taps_; i++) {
            filter_[phase * taps_ + i] = static_cast<int16_t>(std::lround(taps[i] / sum * kOne));
        }
    }
    reset();
}

void Resampler::reset() {
    phase_ = 0;
    samples_.assign(taps_ - 1, 0);
}

void Resampler::feed(std::span<const int16_t> in, std::vector<int16_t>& out) {
    if (up_ == down_) {
        out.insert(out.end(), in.begin(), in.end());
        return;
    }
    while (!in.empty()) {
        const size_t size = std::min(in.size(), kMaxBlock);
        samples_.insert(samples_.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(size));
        in = in.subspan(size);
        size_t at = 0;
        while (at + taps_ <= samples_.size()) {
            if (phase_ >= up_) {
                phase_ -= up_;
                at++;
                continue;
            }
            const int16_t* const taps = filter_.data() + phase_ * taps_;
            const int16_t* const from = samples_.data() + at;
            const int32_t sum = weigh(taps, from, taps_);
            out.push_back(static_cast<int16_t>(std::clamp((sum + 8192) >> 14, -32768, 32767)));
            phase_ += down_;
        }
        samples_.erase(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(at));
    }
}

}  // namespace weir::media
