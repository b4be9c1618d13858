// Trickled candidates and ICE restarts: what is written reads back the same.
#include "base/bytes.h"
#include "base/check.h"
#include "proto/sdp/ice_fragment.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using weir::sdp::IceFragment;
    const weir::Result<IceFragment> fragment = IceFragment::parse(weir::as_text({data, size}));
    if (fragment.ok()) {
        const weir::Result<IceFragment> again = IceFragment::parse(fragment->write());
        WEIR_CHECK(again.ok() ? *again == *fragment
                              : again.error().code() == weir::ErrorCode::kLimit);
    }
    return 0;
}
