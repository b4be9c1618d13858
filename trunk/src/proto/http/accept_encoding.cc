#include "proto/http/accept_encoding.h"

#include <string_view>

#include "base/strings.h"

namespace weir::http {
namespace {

constexpr size_t kMaxCodings = 32;

// "q=0", "q=0.000": not at all.
bool refused(std::string_view parameter) {
    parameter = trimmed(parameter);
    return parameter.starts_with("q=0") &&
           parameter.find_first_not_of("0.", 2) == std::string_view::npos;
}

}  // namespace

bool accepts_gzip(const Fields& headers) {
    for (const std::string_view coding :
         split(headers.get("Accept-Encoding").value_or(""), ',', kMaxCodings)) {
        const size_t end = coding.find(';');
        if (equal_ignoring_case(trimmed(coding.substr(0, end)), "gzip")) {
            return end == std::string_view::npos || !refused(coding.substr(end + 1));
        }
    }
    return false;
}

}  // namespace weir::http
