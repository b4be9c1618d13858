// gzip (RFC 1952), by zlib.
#pragma once

#include <string>
#include <string_view>

namespace weir {

// All of `text`, quickly rather than well: what is compressed here is sent once or a few times.
std::string gzip(std::string_view text);

}  // namespace weir
