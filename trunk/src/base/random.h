// Source of random bytes, injected so that protocol code stays deterministic in tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace weir {

class RandomSource {
  public:
    RandomSource() = default;
    RandomSource(const RandomSource&) = delete;
    RandomSource& operator=(const RandomSource&) = delete;
    virtual ~RandomSource() = default;

    virtual void fill(std::span<uint8_t> out) = 0;
};

// The kernel's generator (getrandom).
RandomSource& system_random();

// For sequence numbers, times and SSRCs of RTP (RFC 3550 §5.1); may be 0.
uint32_t random_u32(RandomSource& source);

// `length` lower-case letters and digits, for client and session ids.
std::string random_id(RandomSource& source, size_t length);

}  // namespace weir
