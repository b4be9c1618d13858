// Numbers with units in a configuration, and words for what is wrong about a value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weir {

struct ConfigUnit {
    std::string_view name;
    uint64_t factor;
};

// k, m, g: 1024 and its powers.
std::span<const ConfigUnit> config_size_units();

// k, m, g: 1000 and its powers, for rates.
std::span<const ConfigUnit> config_rate_units();

// ms, s, m, h, in milliseconds.
std::span<const ConfigUnit> config_duration_units();

// Digits and a unit, in any case; a number without one counts `bare`. One that does not fit is the
// largest there is, so that it is out of every range. None when it is something else.
std::optional<uint64_t> parse_config_number(std::string_view text,
                                            std::span<const ConfigUnit> units,
                                            uint64_t bare);

// "; did you mean 'x'?" with the nearest of the choices; empty when none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> choices);

// "a", "a or b", "a, b or c", of "a|b|c".
std::string either_of(std::string_view choices);

// 16777216 -> "16m", 500 -> "500".
std::string size_text(uint64_t bytes);

// 2500000 -> "2500k", 8000000 -> "8m".
std::string bitrate_text(uint64_t bits_per_second);

// 10000 -> "10s", 350 -> "350ms".
std::string duration_text(uint64_t milliseconds);

}  // namespace weir
