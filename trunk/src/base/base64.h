// Base64 (RFC 4648 §4) and its form for URLs (§5), strict: one text for each value, nothing
// skipped.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace weir {

// With padding, as in `Authorization: Basic`. None for anything that an encoder would not write:
// other characters, wrong length, bits behind the end that are not zero.
std::optional<Bytes> parse_base64(std::string_view text);

// '-' and '_' for '+' and '/', and no padding, as in JWT (RFC 7515 §2).
std::optional<Bytes> parse_base64url(std::string_view text);

std::string base64url(ByteSpan data);

}  // namespace weir
