// A 32-bit checksum of bytes that come in any cut: 8 bytes a step, so that thousands of players can
// afford it. Not meant against intent; each step is one to one, so no single changed word stays
// unseen but by the final folding (1 in 2^32).
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace weir::load {

class FrameSum {
  public:
    void add(ByteSpan bytes);

    uint32_t value() const;

  private:
    uint64_t state_ = 0x77656972'62656e63;
    uint64_t pending_ = 0;  // the bytes of a word that is not complete
    uint64_t size_ = 0;
};

}  // namespace weir::load
