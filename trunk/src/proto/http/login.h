// A client's side of authentication on one connection, for protocols that have HTTP's fields: keeps
// the challenge that the server made, and answers it with each request. Pure.
//
// Servers forget to say stale=true, and some change their nonce with each answer: so a challenge
// that comes to an old answer is answered once more, whatever it says. One that comes to an answer
// made of a fresh challenge means that the login is wrong, unless it says stale=true.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "proto/http/digest_auth.h"
#include "proto/http/fields.h"
#include "proto/http/user_info.h"

namespace weir::http {

class Login {
  public:
    static constexpr uint8_t kMaxAnswers = 3;  // to challenges of one request

    enum class Outcome : uint8_t {
        kAnswer,       // send the request again, with authorization()
        kMissing,      // there is no user and no password to answer with
        kUnsupported,  // nothing that the server asks for is supported
        kWrong,        // the server does not take this user and password
    };

    Login() = default;

    // `allow_basic`: the password may be shown to a server that asks for it.
    Login(UserInfo user, bool allow_basic) : user_(std::move(user)), allow_basic_(allow_basic) {}

    // A new request, not a repetition.
    void begin_request() { answers_ = 0; }

    // A 401 with these fields came. `name`: of the field that has the challenges; 407 of SIP has
    // them in Proxy-Authenticate.
    Outcome on_challenge(const Fields& fields, std::string_view name = "WWW-Authenticate");

    // The value of Authorization or Proxy-Authorization; empty before the first challenge.
    std::string authorization(std::string_view method, std::string_view uri, RandomSource& random);

  private:
    UserInfo user_;
    bool allow_basic_ = false;
    std::optional<Challenge> challenge_;
    uint32_t uses_ = 0;    // of its nonce
    uint8_t answers_ = 0;  // of this request
};

}  // namespace weir::http
