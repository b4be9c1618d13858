// The body of an INFO of SIP: the first line is its type, the rest the body. A digit that is read
// is written and read back as the same.
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "base/strings.h"
#include "proto/sip/info_body.h"

namespace sip = weir::sip;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto input = weir::split_once(weir::as_text(weir::ByteSpan(data, size)), '\n');
    sip::asks_for_picture(input.before, input.after);
    if (const auto digit = sip::parse_info_digit(input.before, input.after)) {
        WEIR_CHECK(digit->duration >= sip::InfoDigit::kMinDuration &&
                   digit->duration <= sip::InfoDigit::kMaxDuration);
        WEIR_CHECK(sip::parse_info_digit(sip::kDtmfRelayType, sip::write_info_digit(*digit)) ==
                   digit);
    }
    return 0;
}
