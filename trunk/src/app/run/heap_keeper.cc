#include "app/run/heap_keeper.h"

#include <algorithm>

#include <malloc.h>

namespace weir::app {

bool HeapKeeper::should_trim(size_t free_bytes) {
    const bool grown = free_bytes >= kWorthwhile && free_bytes >= free_before_ + kGrowth;
    free_before_ = grown ? free_bytes : std::min(free_before_, free_bytes);
    return grown;
}

void HeapKeeper::tidy() {
    if (should_trim(mallinfo2().fordblks)) {
        malloc_trim(0);
    }
}

}  // namespace weir::app
