// The query of a connect that answers a challenge: nobody gets in without the password.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "base/random.h"
#include "proto/rtmp/adobe_auth.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using weir::rtmp::AdobeAuthenticator;
    using weir::rtmp::AdobeQueryView;
    constexpr int64_t kNow = 1'700'000'000'000;
    AdobeAuthenticator adobe(weir::system_random());
    const std::array<std::string, 1> passwords = {"a password that no input holds"};
    const std::string_view text = weir::as_text({data, size});
    const AdobeQueryView query = AdobeQueryView::parse(text);
    (void)AdobeAuthenticator::is_user_name(query.user);
    WEIR_CHECK(adobe.check(query, "203.0.113.9", passwords, kNow) ==
               AdobeAuthenticator::Verdict::kStale);
    // With a challenge of its own, whatever the rest is.
    AdobeQueryView answered = query;
    const AdobeAuthenticator::Challenge challenge =
        adobe.challenge(query.user, "203.0.113.9", kNow);
    answered.opaque = challenge.text;
    WEIR_CHECK(adobe.check(answered, "203.0.113.9", passwords, kNow) ==
               AdobeAuthenticator::Verdict::kWrong);
    return 0;
}
