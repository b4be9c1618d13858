// HTTP requests: the same requests and the same error however the input is split; every accepted
// path is normalised. The first byte is the size of the pieces; its top bit chooses limits that a
// short input reaches.
#include <algorithm>
#include <string>

#include "base/check.h"
#include "proto/http/request_parser.h"
#include "proto/http/target.h"

using Status = weir::http::RequestParser::Status;

static constexpr weir::http::RequestLimits kTight{.request_line_bytes = 64,
                                                  .header_bytes = 96,
                                                  .header_fields = 4,
                                                  .body_bytes = 32,
                                                  .chunk_head_bytes = 16};

static std::string outcome_of(weir::ByteSpan input, size_t piece, bool tight) {
    weir::http::RequestParser parser(tight ? kTight : weir::http::RequestLimits());
    std::string outcome;
    for (size_t at = 0; at < input.size(); at += piece) {
        parser.feed(input.subspan(at, std::min(piece, input.size() - at)));
        weir::http::Request request;
        Status status;
        while ((status = parser.next(request)) == Status::kRequest) {
            const std::string& path = request.path;
            WEIR_CHECK(path == "*" || weir::http::normalised_path(path) == path);
            outcome += request.target + "\n" + path + "\n" + request.body + "\n";
        }
        if (status == Status::kError) {
            return outcome + std::to_string(parser.error().status) + parser.error().reason;
        }
    }
    return outcome + (parser.in_body() ? "in body" : parser.in_request() ? "in head" : "idle");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > 1) {
        weir::ByteSpan input(data + 1, size - 1);
        const bool tight = data[0] >= 128;
        const std::string whole = outcome_of(input, size, tight);
        WEIR_CHECK(outcome_of(input, data[0] % 64U + 1U, tight) == whole);
        WEIR_CHECK(outcome_of(input, 1, tight) == whole);
    }
    return 0;
}
