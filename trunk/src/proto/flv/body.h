// Assembling of a body whose size a peer has claimed: memory follows what really arrived.
#pragma once

#include <algorithm>

#include "base/bytes.h"

namespace weir::flv {

inline constexpr size_t kFirstBodyReserve = 4 * 1024;
inline constexpr size_t kNextBodyReserve = 64 * 1024;

// Appends `more` to `body`, which will be `final_size` bytes long in the end (more.size() never
// goes past it). Capacity never exceeds final_size: exact for small bodies, 4 KiB and 64 KiB on
// trust, doubled from there on.
inline void append_to_body(Bytes& body, ByteSpan more, size_t final_size) {
    const size_t needed = body.size() + more.size();
    if (needed > body.capacity()) {
        size_t wanted = std::max(needed, 2 * body.capacity());
        if (needed <= kFirstBodyReserve) {
            wanted = kFirstBodyReserve;
        } else if (needed <= kNextBodyReserve) {
            wanted = kNextBodyReserve;
        }
        body.reserve(std::min(wanted, final_size));
    }
    body.insert(body.end(), more.begin(), more.end());
}

}  // namespace weir::flv
