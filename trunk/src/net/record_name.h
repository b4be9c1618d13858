// Names of recordings: from a pattern and the names of a stream, which a peer has chosen, to a path
// that stays within its folder. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "stream/stream_key.h"

namespace weir::net {

// Bytes of one component of a path that come from one name.
inline constexpr size_t kMaxNameBytes = 120;
inline constexpr size_t kMaxPatternBytes = 256;

// Letters, digits and "-_.~+@," stay; a dot in front and everything else become %XX. Names that get
// too long are cut, and end in a number made of all of them. Never empty, never "." or "..".
std::string safe_name(std::string_view name);

// The reverse for a name that was not cut.
std::string plain_name(std::string_view safe);

// What is wrong with a pattern: kMalformed. It has {vhost}, {app}, {stream}, {time} and characters
// that need no %XX, in components between slashes.
Error check_pattern(std::string_view pattern);

// "live/cam1/2026-11-25_17-31-59", of a checked pattern, in the server's time zone.
std::string record_name(std::string_view pattern,
                        const stream::StreamKey& key,
                        int64_t wall_time_ms);

// The next midnight in the server's time zone.
int64_t next_midnight_ms(int64_t wall_time_ms);

}  // namespace weir::net
