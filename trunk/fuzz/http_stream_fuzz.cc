// HTTP answers without an end: the same body and the same error however the input is split. The
// first byte is the size of the pieces.
#include <algorithm>
#include <string>

#include "base/check.h"
#include "proto/http/stream_response.h"

static std::string outcome_of(weir::ByteSpan input, size_t piece) {
    weir::http::StreamResponse response;
    weir::Bytes body;
    auto status = weir::http::StreamResponse::Status::kHead;
    for (size_t at = 0; at < input.size(); at += piece) {
        status = response.feed(input.subspan(at, std::min(piece, input.size() - at)), body);
    }
    WEIR_CHECK(body.size() <= input.size());
    // What came before a mistake depends on where the input was split.
    std::string outcome = std::to_string(static_cast<int>(status)) + " ";
    if (status == weir::http::StreamResponse::Status::kError) {
        return outcome + std::string(response.take_error().message());
    }
    return outcome + std::to_string(response.status()) + " " + std::string(weir::as_text(body));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > 1) {
        weir::ByteSpan input(data + 1, size - 1);
        const std::string whole = outcome_of(input, size);
        WEIR_CHECK(outcome_of(input, data[0] % 64U + 1U) == whole);
        WEIR_CHECK(outcome_of(input, 1) == whole);
    }
    return 0;
}
