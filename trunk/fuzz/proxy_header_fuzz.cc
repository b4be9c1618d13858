// The header of a PROXY protocol: the same outcome however the input is split, bounded, and never
// more of the input than the header. The last byte is the size of the pieces, too.
#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "proto/proxy/header.h"

namespace proxy = weir::proxy;

struct Outcome {
    proxy::HeaderReader::Status status = proxy::HeaderReader::Status::kNeedMore;
    weir::NetAddress source;
    std::string_view error;
    size_t used = 0;
};

static Outcome outcome_of(weir::ByteSpan input, size_t piece) {
    proxy::HeaderReader reader;
    Outcome outcome;
    while (outcome.status == proxy::HeaderReader::Status::kNeedMore &&
           outcome.used < input.size()) {
        WEIR_CHECK(reader.wanted() > 0 && reader.wanted() <= proxy::HeaderReader::kMaxBinary);
        const size_t size = std::min({piece, reader.wanted(), input.size() - outcome.used});
        outcome.status = reader.feed(input.subspan(outcome.used, size));
        outcome.used += size;
    }
    outcome.source = reader.header().source;
    outcome.error = reader.error();
    return outcome;
}

// A reader that refuses may have been given a byte more than it needed for that.
static void check_same(const Outcome& a, const Outcome& b) {
    WEIR_CHECK(a.status == b.status && a.source == b.source && a.error == b.error);
    WEIR_CHECK(a.status == proxy::HeaderReader::Status::kMalformed || a.used == b.used);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const weir::ByteSpan input(data, size);
    const Outcome whole = outcome_of(input, SIZE_MAX);
    check_same(whole, outcome_of(input, 1));
    check_same(whole, outcome_of(input, size > 0 ? data[size - 1] % 32U + 2U : 2U));
    return 0;
}
