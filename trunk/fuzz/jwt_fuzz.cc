// Tokens and key sets: whatever the text, an answer; and no token is good that was not signed by
// the key. What is signed is claims that a stranger wrote.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "app/access/jwt.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/hmac.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";
    const std::string_view text = weir::as_text({data, size});
    weir::app::JwtKeys keys;
    WEIR_CHECK(!weir::app::add_jwt_secret(keys, kSecret));
    weir::app::JwtQuestion question;
    question.app = "live";
    question.stream = "room";
    question.ip = "203.0.113.9";
    question.now_s = 1'700'000'000;
    WEIR_CHECK(weir::app::check_jwt(text, keys, question).code() ==
               weir::ErrorCode::kDenied);  // nobody guesses a HMAC

    weir::app::JwtKeys set;
    const weir::Error wrong = weir::app::add_jwks(set, text);
    WEIR_CHECK(bool(wrong) || !set.empty());

    const std::string front = weir::base64url(weir::as_bytes(R"({"alg":"HS256"})")) + "." +
                              weir::base64url(weir::as_bytes(text));
    const std::string token =
        front + "." +
        weir::base64url(weir::hmac_sha256(weir::as_bytes(kSecret), weir::as_bytes(front)));
    const weir::Error answer = weir::app::check_jwt(token, keys, question);
    WEIR_CHECK(!answer || answer.code() == weir::ErrorCode::kDenied);
    if (!answer) {
        question.now_s = INT64_MAX / 2;
        WEIR_CHECK(bool(weir::app::check_jwt(token, keys, question)));  // everything expires
    }
    return 0;
}
