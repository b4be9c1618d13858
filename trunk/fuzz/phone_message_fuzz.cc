// What a phone page says: whatever the text, a wish within its limits or an error that repeats
// nothing of it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/check.h"
#include "session/phone/phone_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto wish = weir::session::read_phone_wish(weir::as_text({data, size}));
    if (!wish.ok()) {
        WEIR_CHECK(wish.error().code() == weir::ErrorCode::kMalformed);
        return 0;
    }
    WEIR_CHECK(size <= weir::session::kMaxPhoneMessage &&
               wish->codecs.size() <= weir::session::kMaxPhoneCodecs);
    for (const std::string* text :
         {&wish->user, &wish->password, &wish->domain, &wish->display, &wish->to, &wish->digits}) {
        WEIR_CHECK(text->size() <= weir::session::kMaxPhoneText &&
                   text->find('\n') == std::string::npos);
    }
    WEIR_CHECK(wish->status == 0 || (wish->status >= 300 && wish->status < 700));
    WEIR_CHECK(!weir::session::to_string(wish->kind).empty());
    return 0;
}
