// Request targets (RFC 9112 §3.2): splitting, percent-decoding, normalising. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "proto/http/request.h"

namespace weir::http {

inline constexpr size_t kMaxQueryParameters = 64;

struct Target {
    std::string path;        // decoded, normalised; "*" for asterisk-form
    std::string query_text;  // as sent
    Query query;
    std::string authority;  // of an absolute target ("http://host:8080/x"), else empty
};

// nullopt: no target of HTTP, a broken percent escape, a control character (NUL included), a path
// that climbs above the root, too many parameters.
std::optional<Target> parse_target(std::string_view target);

// "%41" to "A". nullopt when an escape is broken.
std::optional<std::string> percent_decoded(std::string_view text);

// Everything but unreserved characters and "/" as %XX, for links and Location fields.
std::string percent_encoded(std::string_view text);

// Removes "." and ".." and empty segments. `path` begins with "/". nullopt when it climbs above the
// root.
std::optional<std::string> normalised_path(std::string_view path);

}  // namespace weir::http
