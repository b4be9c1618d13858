// Text inside HTML.
#pragma once

#include <string>
#include <string_view>

namespace weir::load {

// The text for an element or a quoted attribute. What no HTML or XML text may hold (control
// characters but tab and line ends, broken UTF-8) becomes U+FFFD.
std::string html_escape(std::string_view text);

}  // namespace weir::load
