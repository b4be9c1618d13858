#include "app/access/strict_json.h"

#include <set>
#include <string>
#include <vector>

namespace weir::app {

std::optional<nlohmann::json> parse_strict_object(std::string_view text, int max_depth) {
    // The parser takes a zero byte as the end of its input, and JSON has none (RFC 8259 §7).
    if (text.find('\0') != std::string_view::npos) {
        return std::nullopt;
    }
    using Event = nlohmann::json::parse_event_t;
    bool good = true;
    std::vector<std::set<std::string>> names;  // of the objects around what is being read
    const auto check = [&](int depth, Event event, nlohmann::json& value) {
        // The parser's depth counts from 0 for the outermost object.
        if (depth > max_depth) {
            good = false;
        } else if (event == Event::object_start) {
            names.emplace_back();
        } else if (event == Event::object_end) {
            names.pop_back();
        } else if (event == Event::key) {
            good = names.back().insert(value.get_ref<const std::string&>()).second && good;
        }
        return good;
    };
    nlohmann::json parsed = nlohmann::json::parse(text, check, false);
    if (!good || !parsed.is_object()) {
        return std::nullopt;
    }
    return parsed;
}

}  // namespace weir::app
