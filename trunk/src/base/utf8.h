// UTF-8 (RFC 3629), as far as text that others wrote has to be shown safely.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

// Bytes of the character at the start of a text that is not empty; 0 when there is none: a byte
// that begins no character, a cut one, an overlong form, a surrogate (RFC 3629 §3, §4).
size_t utf8_size(std::string_view text);

// Whether a character that utf8_size() measured may stand in a line as it is. Not those that have
// no look of their own and change how others look (controls, line and paragraph separators, marks
// of direction, joiners, tags, noncharacters), nor spaces other than U+0020, which look like one.
bool is_plain_character(std::string_view character);

}  // namespace weir
