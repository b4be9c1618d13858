#include "proto/rtsp/method.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace weir::rtsp {
namespace {

// In the order of the enum.
constexpr std::array<std::string_view, 12> kNames = {
    "UNKNOWN",  "OPTIONS", "DESCRIBE", "SETUP",         "PLAY",          "PAUSE",
    "ANNOUNCE", "RECORD",  "TEARDOWN", "GET_PARAMETER", "SET_PARAMETER", "REDIRECT",
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

MethodSet MethodSet::parse(std::string_view value) {
    MethodSet set;
    while (!value.empty()) {
        const size_t end = std::min(value.find_first_of(", \t;"), value.size());
        std::string name(value.substr(0, end));
        std::ranges::transform(name, name.begin(), [](char c) {
            return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        });
        if (const Method method = parse_method(name); method != Method::kUnknown) {
            set.add(method);
        }
        value.remove_prefix(std::min(end + 1, value.size()));
    }
    return set;
}

std::string MethodSet::write() const {
    std::string out;
    for (size_t i = 1; i < kNames.size(); i++) {
        if (has(static_cast<Method>(i))) {
            out += out.empty() ? "" : ", ";
            out += kNames[i];
        }
    }
    return out;
}

}  // namespace weir::rtsp
