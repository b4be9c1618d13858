// A predictable random source: 0, 1, 2 ... and, after 255, from the beginning.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"

namespace weir::test {

class CountingRandom final : public RandomSource {
  public:
    void fill(std::span<uint8_t> out) override {
        for (uint8_t& byte : out) {
            byte = next_++;
        }
    }

  private:
    uint8_t next_ = 0;
};

}  // namespace weir::test
