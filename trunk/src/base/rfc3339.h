// Points in time as people and programs write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

// Milliseconds since 1970 of "2026-11-25T17:31:59Z" (RFC 3339 §5.6, with fractions of seconds, and
// with an offset as in +01:00, whose plus sign may have become a blank on its way through a URL),
// or of seconds since 1970 with up to three decimals. nullopt: it is neither.
std::optional<int64_t> parse_time_point(std::string_view text);

// "2026-11-25T17:31:59.123Z" of milliseconds since 1970, as RFC 8216 §4.3.2.6 and xs:dateTime have
// it.
std::string write_time_point(int64_t wall_ms);

}  // namespace weir
