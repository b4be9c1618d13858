// IoResult: what one non-blocking call of a socket came to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::io {

// Result of one non-blocking call. kClosed: a FIN, a reset (error_number says so), or our own
// close().
enum class IoStatus : uint8_t { kDone, kWouldBlock, kClosed, kFailed };

struct IoResult {
    IoStatus status = IoStatus::kDone;
    size_t bytes = 0;      // kDone: more than 0
    int error_number = 0;  // kFailed; kClosed by a reset
};

}  // namespace weir::io
