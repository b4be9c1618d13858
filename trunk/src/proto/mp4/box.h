// Boxes of ISO/IEC 14496-12 §4.2 as they are written: the size in front of a box is filled in when
// the object goes.
//
//     | size 4 | type 4 | full boxes: version 1, flags 3 | content ... |
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace weir::mp4 {

// Not within its users: they make many, on stacks of coroutines, where the sanitizers would give
// each its own room for all that it calls.
class Box {
  public:
    // `type`: four characters. `out` must outlive this.
    [[gnu::noinline]] Box(Bytes& out, std::string_view type) : out_(out), start_(out.size()) {
        ByteWriter(out_).u32(0).text(type);
    }

    // A full box.
    [[gnu::noinline]] Box(Bytes& out, std::string_view type, uint8_t version, uint32_t flags)
        : Box(out, type) {
        ByteWriter(out_).u8(version).u24(flags);
    }

    [[gnu::noinline]] ~Box() {
        store_u32(out_.data() + start_, static_cast<uint32_t>(out_.size() - start_));
    }

    Box(const Box&) = delete;
    Box& operator=(const Box&) = delete;

  private:
    Bytes& out_;
    size_t start_;
};

[[gnu::noinline]] inline void put_zeros(Bytes& out, size_t count) {
    out.insert(out.end(), count, uint8_t{0});
}

}  // namespace weir::mp4
