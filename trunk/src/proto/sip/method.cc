#include "proto/sip/method.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace weir::sip {
namespace {

// In the order of the enum.
constexpr std::array<std::string_view, 15> kNames = {
    "UNKNOWN", "INVITE", "ACK",   "BYE",    "CANCEL",    "OPTIONS", "REGISTER", "PRACK",
    "UPDATE",  "INFO",   "REFER", "NOTIFY", "SUBSCRIBE", "MESSAGE", "PUBLISH",
};

}  // namespace

std::string_view to_string(Method method) {
    const auto at = static_cast<size_t>(method);
    return at < kNames.size() ? kNames[at] : kNames[0];
}

Method parse_method(std::string_view name) {
    const auto* const found = std::find(kNames.begin() + 1, kNames.end(), name);
    return found == kNames.end() ? Method::kUnknown : static_cast<Method>(found - kNames.begin());
}

}  // namespace weir::sip
