// Wrapping numbers (RTP sequence numbers, RTP timestamps, transport sequence numbers) as 64-bit
// ones that only grow over a wrap.
//
// The reference is the highest value so far, so that a late packet from before a wrap gets the
// value that it would have had in time; values before the first one may be negative. A jump of half
// of the range or more counts as a step back. A peer that starts again somewhere else is the
// caller's to notice: reset().
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

namespace weir::rtp {

template <typename T>
class Unwrapper {
    static_assert(std::is_unsigned_v<T> && sizeof(T) < sizeof(int64_t));

  public:
    // The first value given stands for itself.
    int64_t unwrap(T value) {
        const int64_t result = peek(value);
        if (!highest_ || result > *highest_) {
            highest_ = result;
        }
        return result;
    }

    // The same, and remembers nothing.
    int64_t peek(T value) const {
        if (!highest_) {
            return value;
        }
        const T distance = static_cast<T>(value - static_cast<T>(*highest_));
        return *highest_ + static_cast<std::make_signed_t<T>>(distance);
    }

    std::optional<int64_t> highest() const { return highest_; }

    void reset() { highest_.reset(); }

  private:
    std::optional<int64_t> highest_;
};

using SequenceUnwrapper = Unwrapper<uint16_t>;
using TimeUnwrapper = Unwrapper<uint32_t>;

// True when `a` comes after `b` in the order of wrapping 16-bit numbers (RFC 1982).
constexpr bool is_newer(uint16_t a, uint16_t b) {
    return a != b && static_cast<uint16_t>(a - b) < 0x8000;
}

}  // namespace weir::rtp
