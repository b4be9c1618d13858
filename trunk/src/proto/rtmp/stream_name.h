// Names of streams as clients spell them: app of connect, tcUrl, and the name of publish and play,
// each perhaps with a query.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace weir::rtmp {

inline constexpr size_t kMaxAppSize = 1024;         // bytes
inline constexpr size_t kMaxStreamNameSize = 1024;  // without the query
inline constexpr size_t kMaxUrlSize = 4096;         // tcUrl; also a query

// What publish and play name, in normal form: slashes at the ends and doubled ones are gone, and
// the last part of the whole path is the stream. So "a/b" + "c", "a" + "b/c" and "a/b/" + "/c" are
// all app "a/b", stream "c"; and so is "a/b/c" + "", which clients say that put the whole path into
// the app.
struct StreamName {
    std::string app;
    std::string stream;
    std::string vhost;
    std::string query;  // of the stream, then of the connection, joined by '&'

    // "app/stream", the name that people see.
    std::string path() const { return app + "/" + stream; }
};

// What is in front of the first '?', and what is behind it.
std::pair<std::string_view, std::string_view> split_query(std::string_view text);

// Host of "rtmp://host:port/path" without port, user and brackets; empty when there is none.
std::string_view url_host(std::string_view url);

// Value of `key` in "a=1&b=2", as it stands there; empty when it is missing.
std::string_view query_value(std::string_view query, std::string_view key);

// `app` without its query, slashes trimmed and single.
std::string normal_app(std::string_view app);

// Sets app and stream from the app of the connection and the name (without query) of a command.
// kMalformed with a message for the user: empty stream or app, control characters, "." or ".." as a
// part; kLimit: too long.
Error parse_path(std::string_view app, std::string_view name, StreamName& out);

}  // namespace weir::rtmp
