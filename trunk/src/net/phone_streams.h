// Where the private streams of telephones of pages are: below one app. With several processes only
// that with SIP knows them, and none follows from their names.
#pragma once

#include <string_view>

namespace weir::net {

inline constexpr std::string_view kPhoneApps = "phone/";

}  // namespace weir::net
