// What a 404 says about a path: a stream asked for in a protocol that this server does not speak is
// told so, and which ones it speaks.
#pragma once

#include <string_view>

namespace weir::http {

// By the end of `path`: a sentence for MPEG-DASH, else `otherwise`. Holds no bytes
// of the peer. Borrows `otherwise`.
std::string_view why_not_here(std::string_view path, std::string_view otherwise);

}  // namespace weir::http
