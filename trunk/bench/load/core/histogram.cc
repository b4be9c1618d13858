#include "bench/load/core/histogram.h"

#include <algorithm>
#include <bit>

namespace weir::load {
namespace {

constexpr unsigned kStepBits = 5;
constexpr uint64_t kSteps = 1U << kStepBits;
constexpr size_t kBuckets = kSteps * (64 - kStepBits + 1);

// Values below kSteps have a bucket each; above, the top kStepBits + 1 bits choose it.
size_t bucket_of(uint64_t value) {
    if (value < kSteps) {
        return value;
    }
    auto shift = static_cast<unsigned>(std::bit_width(value)) - kStepBits - 1;
    return (shift + 1) * kSteps + ((value >> shift) & (kSteps - 1));
}

uint64_t middle_of(size_t bucket) {
    if (bucket < kSteps) {
        return bucket;
    }
    size_t shift = bucket / kSteps - 1;
    uint64_t low = (kSteps + bucket % kSteps) << shift;
    return low + ((uint64_t{1} << shift) >> 1);
}

}  // namespace

Histogram::Histogram() : buckets_(kBuckets) {}

void Histogram::add(uint64_t value) {
    buckets_[bucket_of(value)]++;
    count_++;
    sum_ += value;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
}

void Histogram::merge(const Histogram& other) {
    for (size_t i = 0; i < buckets_.size(); i++) {
        buckets_[i] += other.buckets_[i];
    }
    count_ += other.count_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
}

void Histogram::clear() {
    *this = Histogram();
}

uint64_t Histogram::quantile(double quantile) const {
    if (count_ == 0) {
        return 0;
    }
    auto wanted = static_cast<uint64_t>(quantile * static_cast<double>(count_));
    wanted = std::min(wanted, count_ - 1);
    uint64_t seen = 0;
    for (size_t i = 0; i < buckets_.size(); i++) {
        seen += buckets_[i];
        if (seen > wanted) {
            return std::clamp(middle_of(i), min_, max_);
        }
    }
    return max_;
}

}  // namespace weir::load
