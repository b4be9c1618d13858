// The header of a PROXY protocol: the same outcome however the input is split, bounded, and never
// more of the input than the header.
#include <algorithm>

#include "base/check.h"
#include "proto/proxy/header.h"

namespace proxy = weir::proxy;

struct Outcome {
    proxy::HeaderReader::Status status = proxy::HeaderReader::Status::kNeedMore;
    weir::NetAddress source;
    size_t used = 0;

    bool operator==(const Outcome&) const = default;
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
    return outcome;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const weir::ByteSpan input(data, size);
    const Outcome whole = outcome_of(input, SIZE_MAX);
    const Outcome bytes = outcome_of(input, 1);
    WEIR_CHECK(whole.status == bytes.status && whole.source == bytes.source);
    WEIR_CHECK(whole.status != proxy::HeaderReader::Status::kDone || whole == bytes);
    return 0;
}
