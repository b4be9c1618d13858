#include "proto/ice/path_proof.h"

#include <algorithm>

namespace weir::ice {

PathProof::PathProof(uint32_t tag, RandomSource& random) {
    store_u32(transaction_.data(), tag);
    random.fill(std::span(transaction_).subspan(sizeof(tag)));
}

void PathProof::want_check(MonoTime now) {
    if (proven()) {
        return;
    }
    const MonoTime earliest = checked_ == MonoTime::min() ? now : checked_ + kCheckInterval;
    check_due_ = std::min(check_due_, std::max(now, earliest));
    repeats_ = 0;
}

bool PathProof::take_check(MonoTime now, size_t bytes) {
    check_due_ = MonoTime::max();
    if (!take(bytes)) {
        return false;
    }
    checked_ = now;
    if (repeats_ < kMaxCheckRepeats) {
        check_due_ = now + kFirstCheckRepeat * (1 << repeats_);
        repeats_++;
    }
    return true;
}

}  // namespace weir::ice
