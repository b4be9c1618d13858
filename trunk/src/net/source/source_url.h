// "rtmp://host:port/app/stream?token=x" of a server that streams come from or go to: taken apart
// and checked. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace weir::net {

inline constexpr size_t kMaxSourceUrlBytes = 2048;

struct SourceUrl {
    std::string scheme;  // "rtmp", "rtmps", "http", "https"
    std::string host;    // a name in lower case, or a numeric address without brackets
    uint16_t port = 0;
    std::string path;   // without slashes at its ends: "live/cam", "live/cam.flv"; may be empty
    std::string query;  // without '?'

    // kMalformed says what was expected, and holds no part of `text`, which may have a secret.
    static Result<SourceUrl> parse(std::string_view text);

    bool tls() const { return scheme == "rtmps" || scheme == "https"; }

    bool is_http() const { return scheme == "http" || scheme == "https"; }

    // The last part of the path, and what is in front of it: "cam" and "live". One part: the app
    // is empty.
    std::string_view last() const;
    std::string_view before_last() const;

    // "host:port": the port only where it is not that of the scheme.
    std::string authority() const;

    // "rtmp://host/live/cam?token=x": all of it, secrets included.
    std::string full() const;

    // The same for logs and the API: instead of the query, where secrets are, "?***".
    std::string shown() const;

    // The same of the target of a forward: its stream name is hidden where there is one, since
    // services give stream keys in its place. A name with variables ("[stream]") is none.
    std::string shown_target() const;

    bool operator==(const SourceUrl&) const = default;
};

}  // namespace weir::net
