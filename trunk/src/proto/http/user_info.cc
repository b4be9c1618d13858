#include "proto/http/user_info.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace weir::http {
namespace {

bool is_usable(std::string_view part) {
    return part.size() <= kMaxUserInfoPart && std::ranges::none_of(part, [](char c) {
               return static_cast<unsigned char>(c) < 0x20 || c == '\x7f';
           });
}

}  // namespace

std::optional<UserInfo> UserInfo::parse(std::string_view text) {
    const Halves halves = split_once(text, ':');
    UserInfo info{.user = url_decode(halves.before), .password = url_decode(halves.after)};
    return is_usable(info.user) && is_usable(info.password) ? std::optional(std::move(info))
                                                            : std::nullopt;
}

}  // namespace weir::http
