// "http://host:port/path?query" of a server that we ask: taken apart and checked. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace weir::http {

inline constexpr size_t kMaxUrlBytes = 2048;

struct Url {
    bool tls = false;
    std::string host;  // a name in lower case, or a numeric address without brackets
    uint16_t port = 80;
    std::string target = "/";  // path and query, as they go into the request line

    // kMalformed says what was expected: http or https, no user and password, no fragment, nothing
    // that does not belong into a request line. Holds no part of `text`, which may have a token.
    static Result<Url> parse(std::string_view text);

    // What a Location field of this server's answer means (RFC 3986 §5.2, without dot segments): a
    // whole URL, or a path of the same server. kMalformed as of parse().
    Result<Url> resolve(std::string_view location) const;

    // The value of the Host field: the port only where it is not that of the scheme.
    std::string authority() const;

    // "http://host:port": one server.
    std::string origin() const;

    // For the log: without the query, which may hold a token.
    std::string shown() const;

    bool operator==(const Url&) const = default;
};

}  // namespace weir::http
