// The indices of packets that were received lately (RFC 3711 §3.3.2): each is accepted once.
//
// check() before authentication, add() only after it; otherwise a forged packet could close the
// window.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::srtp {

class ReplayWindow {
  public:
    static constexpr uint32_t kSize = 128;

    // False: seen already, or older than the window.
    bool check(uint32_t index) const {
        if (!any_ || index > newest_) {
            return true;
        }
        const uint32_t age = newest_ - index;
        return age < kSize && (seen_[age / 64] >> age % 64 & 1) == 0;
    }

    void add(uint32_t index) {
        if (!any_ || index > newest_) {
            shift(any_ ? index - newest_ : kSize);
            newest_ = index;
            any_ = true;
        }
        const uint32_t age = newest_ - index;
        if (age < kSize) {
            seen_[age / 64] |= uint64_t{1} << age % 64;
        }
    }

  private:
    void shift(uint32_t by) {
        if (by >= kSize) {
            seen_[0] = seen_[1] = 0;
        } else if (by >= 64) {
            seen_[1] = seen_[0] << (by - 64);
            seen_[0] = 0;
        } else {
            seen_[1] = seen_[1] << by | seen_[0] >> (64 - by);
            seen_[0] <<= by;
        }
    }

    uint64_t seen_[kSize / 64] = {};  // bit n: newest_ - n
    uint32_t newest_ = 0;
    bool any_ = false;
};

}  // namespace weir::srtp
