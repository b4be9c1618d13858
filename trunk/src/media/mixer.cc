#include "media/mixer.h"

#include <algorithm>
#include <numeric>

namespace weir::media {
namespace {

constexpr int32_t kKnee = 24576;
constexpr int32_t kRange = 32767 - kKnee;

}  // namespace

int16_t limit_softly(int32_t sum) {
    const int64_t magnitude = sum < 0 ? -int64_t{sum} : int64_t{sum};
    if (magnitude <= kKnee) {
        return static_cast<int16_t>(sum);
    }
    // x / (1 + x / range): slope 1 at the knee, and never the whole range.
    const int64_t over = magnitude - kKnee;
    const int64_t bent = kKnee + over * kRange / (over + kRange);
    return static_cast<int16_t>(sum < 0 ? -bent : bent);
}

void Mixer::begin(size_t size) {
    sum_.assign(std::min(size, kMaxFrame), 0);
    parties_ = 0;
}

bool Mixer::add(std::span<const int16_t> frame) {
    if (parties_ == kMaxParties) {
        return false;
    }
    parties_++;
    const size_t size = std::min(frame.size(), sum_.size());
    for (size_t i = 0; i < size; i++) {
        sum_[i] += frame[i];
    }
    return true;
}

void Mixer::mix(std::span<int16_t> out) const {
    mix_without({}, out);
}

void Mixer::mix_without(std::span<const int16_t> own, std::span<int16_t> out) const {
    const size_t size = std::min(out.size(), sum_.size());
    const size_t both = std::min(size, own.size());
    for (size_t i = 0; i < both; i++) {
        out[i] = limit_softly(sum_[i] - own[i]);
    }
    for (size_t i = both; i < size; i++) {
        out[i] = limit_softly(sum_[i]);
    }
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(size), out.end(), int16_t{0});
}

double power_of(std::span<const int16_t> frame) {
    int64_t power = 0;
    for (const int16_t sample : frame) {
        power += int64_t{sample} * sample;
    }
    return frame.empty() ? 0 : static_cast<double>(power) / static_cast<double>(frame.size());
}

std::vector<size_t> loudest(std::span<const double> powers, size_t most) {
    std::vector<size_t> order(powers.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (order.size() > most) {
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return powers[a] > powers[b]; });
        order.resize(most);
        std::sort(order.begin(), order.end());
    }
    return order;
}

}  // namespace weir::media
