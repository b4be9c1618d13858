// JSON Web Tokens (RFC 7519) as keys to streams: what a token must say, and how it is checked.
//
//   {"app":"live", "stream":"room-*", "action":"publish", "exp":1767225600}
//
// app and stream: a name, with * for any characters, or a list of them. action: "publish", "play",
// or a list. exp: always. Also looked at where they are there: nbf, iat, vhost, ip (address or
// network, or a list), aud. Pure: the time is a parameter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/access/jwt_keys.h"
#include "base/error.h"
#include "config/access_rules.h"

namespace weir::app {

inline constexpr size_t kMaxJwt = 4096;        // bytes, as of net::kMaxAccessToken
inline constexpr size_t kMaxJwtHeader = 1024;  // bytes of JSON
inline constexpr double kJwtLeewayS = 10;      // by which clocks may differ

// What somebody wants, with the token that shall allow it.
struct JwtQuestion {
    config::Action action = config::Action::kPlay;
    std::string_view vhost;
    std::string_view app;
    std::string_view stream;
    std::string_view ip;
    std::string_view audience;  // ours; empty: none
    int64_t now_s = 0;          // since the epoch
};

// Whether a text has the shape of a token, so that one that does not hold is called so: three parts
// with dots between.
bool looks_like_jwt(std::string_view token);

// kDenied with a sentence for the peer, which shows nothing of the token.
Error check_jwt(std::string_view token, const JwtKeys& keys, const JwtQuestion& question);

// '*' stands for any characters, also none. Linear in the text for each star.
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace weir::app
