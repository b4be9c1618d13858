#include "bench/load/core/frame_sum.h"

#include <bit>
#include <cstring>

namespace weir::load {
namespace {

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15U;

constexpr uint64_t step(uint64_t state, uint64_t word) {
    return (std::rotl(state, 23) ^ word) * kOdd;
}

}  // namespace

void FrameSum::add(ByteSpan bytes) {
    const uint8_t* at = bytes.data();
    const uint8_t* end = at + bytes.size();
    for (; at != end && size_ % 8 != 0; at++) {
        pending_ |= uint64_t{*at} << (8 * (size_ % 8));
        size_++;
        if (size_ % 8 == 0) {
            state_ = step(state_, pending_);
            pending_ = 0;
        }
    }
    uint64_t state = state_;
    for (; end - at >= 8; at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, at, sizeof word);
        state = step(state,
                     std::endian::native == std::endian::little ? word : __builtin_bswap64(word));
        size_ += 8;
    }
    state_ = state;
    for (; at != end; at++) {
        pending_ |= uint64_t{*at} << (8 * (size_ % 8));
        size_++;
    }
}

uint32_t FrameSum::value() const {
    uint64_t state = step(step(state_, pending_), size_);
    state ^= state >> 32;
    state *= kOdd;
    return static_cast<uint32_t>(state >> 32);
}

}  // namespace weir::load
