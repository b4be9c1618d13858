// The Range field (RFC 9110 §14.2) for one range of bytes. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::http {

struct ByteRange {
    uint64_t offset = 0;
    uint64_t length = 0;
};

enum class RangeStatus : uint8_t {
    kWhole,  // no range of bytes, malformed, or several ranges: answer 200 with everything (§14.2
             // allows it)
    kPart,   // answer 206
    kUnsatisfiable,  // answer 416
};

// "bytes=0-99", "bytes=100-", "bytes=-100" of something with `size` bytes. kPart sets `out`.
RangeStatus parse_byte_range(std::string_view text, uint64_t size, ByteRange& out);

}  // namespace weir::http
