// Candidate lines: what is accepted is the same when it is written and read again.
#include "base/check.h"
#include "proto/ice/candidate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    std::optional<weir::ice::Candidate> candidate = weir::ice::Candidate::parse(text);
    if (candidate) {
        std::string written = candidate->to_text();
        if (written.size() <= weir::ice::kMaxCandidateText) {
            WEIR_CHECK(weir::ice::Candidate::parse(written) == candidate);
        }
    }
    return 0;
}
