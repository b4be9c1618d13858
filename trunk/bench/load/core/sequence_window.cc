#include "bench/load/core/sequence_window.h"

namespace weir::load {

void SequenceWindow::see(uint32_t sequence) {
    received_++;
    if (!started_) {
        started_ = true;
        next_ = sequence + 1;
        seen_ = ~uint64_t{0};  // what came before the join is not missed
        return;
    }
    auto ahead = static_cast<int32_t>(sequence - next_);  // numbers wrap
    if (ahead >= 0) {
        auto gap = static_cast<uint32_t>(ahead);
        lost_ += gap;
        seen_ = gap + 1 >= kDepth ? 0 : seen_ << (gap + 1);
        seen_ |= 1;
        next_ = sequence + 1;
        return;
    }
    auto age = static_cast<uint32_t>(-(ahead + 1));
    if (age >= kDepth) {
        reordered_++;
        return;
    }
    uint64_t bit = uint64_t{1} << age;
    if ((seen_ & bit) != 0) {
        duplicated_++;
        return;
    }
    seen_ |= bit;
    lost_--;
    reordered_++;
}

void SequenceWindow::see_illegible() {
    if (started_) {
        see(next_);
    }
}

}  // namespace weir::load
