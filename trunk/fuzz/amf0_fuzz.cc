// AMF0: any bytes give values or an error; what was accepted is written, read again and equal.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "proto/amf/amf0.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto values = weir::amf::parse_all({data, size});
    if (!values.ok()) {
        WEIR_CHECK(values.error().code() != weir::ErrorCode::kOk);
        return 0;
    }
    WEIR_CHECK(values->size() <= weir::amf::kMaxValues);
    weir::Bytes written;
    size_t expected = 0;
    for (const weir::amf::Value& value : *values) {
        weir::amf::write(value, written);
        expected += weir::amf::encoded_size(value);
    }
    WEIR_CHECK(written.size() == expected);
    const auto again = weir::amf::parse_all(written);
    WEIR_CHECK(again.ok() && *again == *values);
    return 0;
}
