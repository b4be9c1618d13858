// HTTP responses: the same response and the same error however the input is split. The first byte
// is the size of the pieces.
#include <algorithm>
#include <string>

#include "base/check.h"
#include "proto/http/response_parser.h"

using Status = weir::http::ResponseParser::Status;

static std::string outcome_of(weir::ByteSpan input, size_t piece) {
    weir::http::ResponseParser parser(
        {.head_bytes = 256, .body_bytes = 256, .chunk_head_bytes = 32});
    for (size_t at = 0; at < input.size(); at += piece) {
        (void)parser.feed(input.subspan(at, std::min(piece, input.size() - at)));
    }
    if (parser.end() == Status::kError) {
        return std::string(parser.take_error().message());
    }
    const weir::http::Response response = parser.take_response();
    WEIR_CHECK(response.status >= 100 && response.body.size() <= 256);
    std::string outcome = std::to_string(response.status) + (response.keep_alive ? "k" : "c");
    for (const weir::http::Field& field : response.headers) {
        outcome += field.name + ":" + field.value + "\n";
    }
    return outcome + response.body;
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
