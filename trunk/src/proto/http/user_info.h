// "user:password" in front of the host of a URL (RFC 3986 §3.2.1), for protocols whose URLs may
// have one: RTSP, SIP. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir::http {

inline constexpr size_t kMaxUserInfoPart = 256;  // decoded

struct UserInfo {
    std::string user;  // decoded
    std::string password;

    // `text` is what stands before the last '@' of the authority. %XX is decoded; a '%' without two
    // hex digits stands for itself, since operators write passwords as they are. The first ':'
    // ends the user. nullopt: control characters, which would end in header fields, or too long.
    static std::optional<UserInfo> parse(std::string_view text);

    bool empty() const { return user.empty() && password.empty(); }

    bool operator==(const UserInfo&) const = default;
};

}  // namespace weir::http
