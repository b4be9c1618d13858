// Log-linear histogram: 32 steps per power of two, so a quantile is within 1.6 % of the true value.
// Any unit.
#pragma once

#include <cstdint>
#include <vector>

namespace weir::load {

class Histogram {
  public:
    Histogram();

    void add(uint64_t value);
    void merge(const Histogram& other);
    void clear();

    uint64_t count() const { return count_; }

    // 0 when empty.
    uint64_t min() const { return count_ == 0 ? 0 : min_; }

    uint64_t max() const { return max_; }

    double mean() const {
        return count_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(count_);
    }

    // The value that the share `quantile` (0.0 to 1.0) of all values does not exceed; 0 when empty.
    // Never outside [min(), max()].
    uint64_t quantile(double quantile) const;

  private:
    std::vector<uint64_t> buckets_;
    uint64_t count_ = 0;
    uint64_t sum_ = 0;
    uint64_t min_ = UINT64_MAX;
    uint64_t max_ = 0;
};

}  // namespace weir::load
