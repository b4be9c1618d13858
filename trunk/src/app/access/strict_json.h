// JSON of strangers whose meaning must be one: refuses what two readers could read differently.
#pragma once

#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

namespace weir::app {

// An object, nested at most `max_depth` deep, in which no object has a name twice (RFC 7519 §4
// wants unique names; parsers disagree about which one counts). None for everything else.
std::optional<nlohmann::json> parse_strict_object(std::string_view text, int max_depth);

}  // namespace weir::app
