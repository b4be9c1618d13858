// ResponseLimits: how large an answer may be that this server reads.
#pragma once

#include <cstddef>

namespace weir::http {

struct ResponseLimits {
    size_t head_bytes = 16 * 1024;  // status line and fields
    size_t body_bytes = 64 * 1024;  // decoded
    size_t interim_answers = 8;     // 1xx
    // A chunk header with its extensions, or all trailers.
    size_t chunk_head_bytes = 16 * 1024;
};

}  // namespace weir::http
