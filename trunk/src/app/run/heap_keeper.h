// Gives memory that is free, but still held by the allocator, back to the system.
//
// glibc returns only the top of its heap by itself: after many connections at once (5,000 silent
// HTTP connections), one small block near the top keeps all of it resident. Not for a steady state:
// nothing happens unless much was freed.
#pragma once

#include <cstddef>

namespace weir::app {

class HeapKeeper {
  public:
    // Free bytes below which nothing is done. The handshakes of 500 encrypted players that come
    // together leave 6 MiB.
    static constexpr size_t kWorthwhile = 2u << 20;
    static constexpr size_t kGrowth = 2u << 20;  // and this much more than after the last time

    // Call every some seconds. Never yields; milliseconds when there is something to give back,
    // microseconds otherwise.
    void tidy();

    // Whether it is time, when this many bytes are free in the heap.
    bool should_trim(size_t free_bytes);

  private:
    size_t free_before_ = 0;  // the least since the last time: what is trimmed counts as free, too
};

}  // namespace weir::app
