// Words of a configuration that are neither numbers nor addresses: secrets, names of hosts,
// origins.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/access_config.h"

namespace weir::config {

inline constexpr size_t kMaxSecret = 4096;  // bytes, as of net::kMaxAccessToken
inline constexpr size_t kMaxLoginName = 128;

// A secret, or "file:PATH" with a path that is relative to `folder`. None: shorter than `least`,
// longer than kMaxSecret, or with characters that cannot be sent (is_secret_text()).
std::optional<SecretSource> parse_secret(std::string_view text,
                                         std::string_view folder,
                                         size_t least);

// Without control characters; blanks are for passwords.
bool is_secret_text(std::string_view text);

// Letters, digits and "._-@+": what Adobe's authentication can carry, and Basic too.
bool is_login_name(std::string_view text);

// "media.example.org".
bool is_host_name(std::string_view text);

// HOST, or HOST:PORT.
bool is_server_name(std::string_view text);

// Of a user or a group: "weir", "www-data", "_rtmp", "svc.media$".
bool is_account_name(std::string_view text);

// "https://a.example", "http://localhost:3000", or "*".
bool is_origin_pattern(std::string_view text);

// What may show a page in a frame: "self", "none", an origin as above, or one of all hosts below a
// name, "https://*.example".
bool is_frame_source(std::string_view text);

// How long or how much finished recordings are kept: "7d", "12h", "30min", "500g", "800mb"; units
// in any case. None: neither.
struct KeepWord {
    uint64_t ms = 0;
    uint64_t bytes = 0;
};

std::optional<KeepWord> parse_keep_word(std::string_view text);

// "30m", which is minutes to one reader and megabytes to the next: no KeepWord.
bool is_ambiguous_keep(std::string_view text);

// Relative paths start at `folder`.
std::string resolve_path(std::string_view path, std::string_view folder);

}  // namespace weir::config
