// Pieces of text that heads of HTTP, RTSP and SIP are made of.
#pragma once

#include <algorithm>
#include <string_view>

#include "proto/http/fields.h"

namespace weir::http {

// RFC 9110 §5.6.2; RFC 3261 §25.1 has the same.
inline bool is_token(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_token_character);
}

// Takes the first line off, without its line end.
inline std::string_view take_line(std::string_view& text) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    return line;
}

}  // namespace weir::http
