#include "net/address_rates.h"

#include <algorithm>
#include <cmath>

namespace weir::net {

double AddressRates::level_of(const Bucket& bucket, const BucketOptions& options, MonoTime now) {
    const double seconds = static_cast<double>((now - bucket.at).count()) / 1e6;
    return std::min(options.burst, bucket.level + std::max(seconds, 0.0) * options.per_second);
}

Millis AddressRates::until_one(double level, const BucketOptions& options) {
    if (level >= 1) {
        return Millis(0);
    }
    return Millis(static_cast<Millis::rep>(std::ceil((1 - level) / options.per_second * 1000)));
}

Millis AddressRates::wait_for(const NetAddress& address,
                              const BucketOptions& options,
                              MonoTime now) const {
    const auto found = by_address_.find(address);
    return found == by_address_.end() ? Millis(0)
                                      : until_one(level_of(*found->second, options, now), options);
}

double AddressRates::left(const NetAddress& address,
                          const BucketOptions& options,
                          MonoTime now) const {
    const auto found = by_address_.find(address);
    return found == by_address_.end() ? options.burst : level_of(*found->second, options, now);
}

Millis AddressRates::take(const NetAddress& address, const BucketOptions& options, MonoTime now) {
    const auto found = by_address_.find(address);
    if (found == by_address_.end()) {
        if (by_address_.size() == kMaxAddresses) {
            by_address_.erase(buckets_.back().address);
            buckets_.pop_back();
        }
        buckets_.push_front({address, options.burst - 1, now});
        by_address_[address] = buckets_.begin();
        return Millis(0);
    }
    buckets_.splice(buckets_.begin(), buckets_, found->second);
    Bucket& bucket = buckets_.front();
    bucket.level = level_of(bucket, options, now);
    bucket.at = now;
    const Millis wait = until_one(bucket.level, options);
    if (wait == Millis(0)) {
        bucket.level -= 1;
    }
    return wait;
}

}  // namespace weir::net
